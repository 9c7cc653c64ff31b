/* Pages of UTF-8 in one pass: byte-level BPE with GPT-2's split, words counted, marks found.
 *
 * What a character is, is not known here: tables with a byte for each code point say it (tokens/quick.py, tokens/marks.py).
 * Every page is followed by PADDING bytes that may be read and mean nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef const uint8_t *Text;

static inline int size_at(Text at) { return *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4; }

static inline uint32_t code_at(Text at)
{
    switch (size_at(at)) {
    case 1: return at[0];
    case 2: return (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
    case 3: return (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
    default: return (at[0] & 0x07u) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
    }
}

static inline uint8_t about(Text table, Text at) { return *at < 0x80 ? table[*at] : table[code_at(at)]; }

static inline Text before(Text at)
{
    do at--;
    while ((*at & 0xC0) == 0x80);
    return at;
}

/* Where the first character stands that the table does not know yet, or -1. */
long unseen(Text text, long from, long size, Text table)
{
    for (Text at = text + from; at < text + size; at += size_at(at))
        if (about(table, at) == 255) return at - text;
    return -1;
}


/* ---- byte-level BPE ---- */

enum { OTHER, LETTER, DIGIT, SPACE };                   /* quick.py fills its table with these */
enum { KNOWN = 1 << 16, LONGEST = 31, MOST = 7 };       /* words remembered, their bytes, their ids: a line of cache each */
#define NONE UINT32_MAX
#define EMPTY UINT64_MAX

typedef union { uint64_t parts[4]; uint8_t bytes[32]; } Key;           /* a word, zeros, and its length in the last byte */
typedef struct { Key key; uint32_t ids[MOST], number; } Word;
typedef struct { uint64_t pair; uint32_t rank; } Merge;
typedef struct { uint32_t id, rank; int32_t last, next; } Piece;        /* rank: of its merge with the next one */

typedef struct {
    Text classes;
    uint32_t letters[256], *products;
    Merge *merges;
    uint64_t mask;
    Word *words;
    Key masks[LONGEST + 1];
    Piece *pieces;
    uint64_t *heap;
    long room, waiting;
} Encoder;

static inline uint64_t mixed(uint64_t x)
{
    x *= 0x9E3779B97F4A7C15u;
    return x ^ x >> 32;
}

static uint32_t rank_of(const Encoder *encoder, uint32_t left, uint32_t right)
{
    uint64_t pair = (uint64_t)left << 32 | right;
    for (uint64_t slot = mixed(pair) & encoder->mask;; slot = (slot + 1) & encoder->mask) {
        const Merge *merge = &encoder->merges[slot];
        if (merge->pair == pair) return merge->rank;
        if (merge->pair == EMPTY) return NONE;
    }
}

void forget(Encoder *encoder)
{
    if (!encoder) return;
    free(encoder->products), free(encoder->merges), free(encoder->words), free(encoder->pieces), free(encoder->heap);
    free(encoder);
}

/* letters: the id of each byte; merges: left, right and product of each, the first to be applied first. */
Encoder *learn(Text classes, const uint32_t *letters, const uint32_t *merges, long number)
{
    Encoder *encoder = calloc(1, sizeof(Encoder));
    if (!encoder) return NULL;
    long slots = 64;
    while (slots < 4 * number) slots *= 2;
    encoder->classes = classes;
    encoder->mask = slots - 1;
    encoder->products = malloc((number + 1) * sizeof(uint32_t));
    encoder->merges = malloc(slots * sizeof(Merge));
    encoder->words = aligned_alloc(64, KNOWN * sizeof(Word));
    if (!encoder->products || !encoder->merges || !encoder->words) {
        forget(encoder);
        return NULL;
    }
    memset(encoder->words, 0, KNOWN * sizeof(Word));    /* a length of 0 is nobody's */
    memset(encoder->merges, 255, slots * sizeof(Merge));
    memcpy(encoder->letters, letters, sizeof encoder->letters);
    for (int size = 0; size <= LONGEST; size++) memset(encoder->masks[size].bytes, 255, size);
    for (long rank = 0; rank < number; rank++) {
        uint64_t pair = (uint64_t)merges[3 * rank] << 32 | merges[3 * rank + 1];
        uint64_t slot = mixed(pair) & encoder->mask;
        while (encoder->merges[slot].pair != EMPTY && encoder->merges[slot].pair != pair) slot = (slot + 1) & encoder->mask;
        encoder->merges[slot] = (Merge){pair, (uint32_t)rank};
        encoder->products[rank] = merges[3 * rank + 2];
    }
    return encoder;
}

/* A heap of (rank, place): the least rank first, the leftmost of equals first. */
static void push(Encoder *encoder, uint32_t rank, long place)
{
    if (rank == NONE) return;
    uint64_t entry = (uint64_t)rank << 32 | (uint64_t)place, *heap = encoder->heap;
    long at = encoder->waiting++;
    for (; at && heap[(at - 1) / 2] > entry; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = entry;
}

static uint64_t pop(Encoder *encoder)
{
    uint64_t *heap = encoder->heap, least = heap[0], last = heap[--encoder->waiting];
    long at = 0, number = encoder->waiting;
    for (long child; (child = 2 * at + 1) < number; at = child) {
        if (child + 1 < number && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= last) break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return least;
}

static int make_room(Encoder *encoder, long size)
{
    if (size <= encoder->room) return 1;
    long room = size < 256 ? 256 : size;
    Piece *pieces = realloc(encoder->pieces, room * sizeof(Piece));
    if (pieces) encoder->pieces = pieces;
    uint64_t *heap = realloc(encoder->heap, 3 * room * sizeof(uint64_t));       /* a merge makes two new neighbours */
    if (heap) encoder->heap = heap;
    if (!pieces || !heap) return 0;
    encoder->room = room;
    return 1;
}

/* Merge the bytes of one word in order of rank; the number of ids, or -1 for want of memory. */
static long merged(Encoder *encoder, Text word, long size, uint32_t *ids)
{
    if (size == 1) {
        ids[0] = encoder->letters[*word];
        return 1;
    }
    if (!make_room(encoder, size)) return -1;
    Piece *pieces = encoder->pieces;
    encoder->waiting = 0;
    for (long at = 0; at < size; at++)
        pieces[at] = (Piece){encoder->letters[word[at]], NONE, (int32_t)at - 1, at + 1 < size ? (int32_t)at + 1 : -1};
    for (long at = 0; at + 1 < size; at++)
        push(encoder, pieces[at].rank = rank_of(encoder, pieces[at].id, pieces[at + 1].id), at);
    while (encoder->waiting) {
        uint64_t entry = pop(encoder);
        Piece *piece = &pieces[entry & UINT32_MAX];
        if (piece->rank != entry >> 32) continue;               /* one of the two has merged elsewhere since */
        Piece *gone = &pieces[piece->next];
        piece->id = encoder->products[piece->rank];
        piece->next = gone->next;
        piece->rank = gone->rank = NONE;
        if (piece->next >= 0) {
            pieces[piece->next].last = (int32_t)(piece - pieces);
            push(encoder, piece->rank = rank_of(encoder, piece->id, pieces[piece->next].id), piece - pieces);
        }
        if (piece->last >= 0) {
            Piece *left = &pieces[piece->last];
            push(encoder, left->rank = rank_of(encoder, left->id, piece->id), left - pieces);
        }
    }
    long number = 0;
    for (long at = 0; at >= 0; at = pieces[at].next) ids[number++] = pieces[at].id;
    return number;
}

/* The ids of one word, remembered if it is short. `ids` has room for MOST more than are written. */
static long spelled(Encoder *encoder, Text word, long size, uint32_t *ids)
{
    if (size > LONGEST) return merged(encoder, word, size, ids);
    Key key;
    memcpy(&key, word, sizeof key);
    for (int part = 0; part < 4; part++) key.parts[part] &= encoder->masks[size].parts[part];
    key.bytes[31] = (uint8_t)size;
    uint64_t sum = mixed(key.parts[0]) + 3 * mixed(key.parts[1] ^ 0x5851F42D4C957F2Du) + mixed(mixed(key.parts[2]) + key.parts[3]);
    Word *known = &encoder->words[mixed(sum) >> 7 & (KNOWN - 1)];
    if (memcmp(&known->key, &key, sizeof key) == 0) {
        memcpy(ids, known->ids, sizeof known->ids);
        return known->number;
    }
    long number = merged(encoder, word, size, ids);
    if (number > 0 && number <= MOST) {         /* it takes the place of another that fell there: memory stays as it is */
        known->key = key;
        known->number = (uint32_t)number;
        memcpy(known->ids, ids, number * sizeof(uint32_t));
    }
    return number;
}

static inline Text run(Text table, Text at, Text end, int class)
{
    while (at < end && about(table, at) == class) at += size_at(at);
    return at;
}

/* One past the piece that begins at `at`, as GPT-2's expression cuts it. */
static inline Text piece_end(Text table, Text at, Text end)
{
    if (*at == '\'' && at + 1 < end) {
        uint8_t one = at[1], two = at + 2 < end ? at[2] : 0;
        if (one == 's' || one == 't' || one == 'm' || one == 'd') return at + 2;
        if ((one == 'r' && two == 'e') || (one == 'v' && two == 'e') || (one == 'l' && two == 'l')) return at + 3;
    }
    int class = about(table, at);
    if (class != SPACE) return run(table, at, end, class);
    if (*at == ' ' && at + 1 < end && (class = about(table, at + 1)) != SPACE) return run(table, at + 1, end, class);
    Text after = run(table, at, end, SPACE);
    if (after == end) return after;
    Text last = before(after);                  /* the last space belongs to what follows, or stands alone */
    return last > at ? last : after;
}

/* The ids of every text of a page, one behind the other, and how many each has; -1 for want of memory.
 * spans: first byte and one past the last, of each text. ids: room for one per byte and 8 more. */
long encode(Encoder *encoder, Text page, const int64_t *spans, long texts, uint32_t *ids, int64_t *numbers)
{
    long total = 0;
    for (long text = 0; text < texts; text++) {
        long first = total;
        Text end = page + spans[2 * text + 1];
        for (Text at = page + spans[2 * text], after; at < end; at = after) {
            after = piece_end(encoder->classes, at, end);
            long number = spelled(encoder, at, after - at, ids + total);
            if (number < 0) return -1;
            total += number;
        }
        numbers[text] = total - first;
    }
    return total;
}


/* ---- words and sentences ---- */

/* marks.py fills its table with these */
enum { GAP_SIGN = 0, WORD_SIGN = 1, SINGLE_SIGN = 2, KIND = 3, WHITE = 4, CJK = 8, CLOSING = 16, STOP = 32, FULL_STOP = 64, ALNUM = 128 };

/* How many words each text has between white space. */
void count_words(Text page, const int64_t *spans, long texts, Text signs, int64_t *words)
{
    for (long text = 0; text < texts; text++) {
        long number = 0;
        int white = WHITE;
        Text end = page + spans[2 * text + 1];
        for (Text at = page + spans[2 * text]; at < end; at += size_at(at)) {
            int now = about(signs, at) & WHITE;
            number += white & ~now ? 1 : 0;
            white = now;
        }
        words[text] = number;
    }
}

static const char *const SHORT[] = {"Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Sr", "Jr", "vs", "cf", "No", "e.g", "i.e"};

static int stands_alone(Text page, Text word, Text signs)
{
    return word == page || !(*before(word) == '.' || about(signs, before(word)) & ALNUM);
}

/* Whether what ends here is an initial or a usual abbreviation. */
static int abbreviated(Text page, Text end, Text signs)
{
    if (end > page && end[-1] >= 'A' && end[-1] <= 'Z' && end[-1] != 'I' && stands_alone(page, end - 1, signs)) return 1;
    for (unsigned i = 0; i < sizeof SHORT / sizeof *SHORT; i++) {
        long size = (long)strlen(SHORT[i]);
        if (end - page >= size && memcmp(end - size, SHORT[i], size) == 0 && stands_alone(page, end - size, signs)) return 1;
    }
    return 0;
}

/* One past the end of a sentence's stop that begins at `at`, or `at`; `*stop` is one past the sentence, or NULL for none. */
static Text sentence_end(Text page, Text at, Text end, Text signs, Text *stop)
{
    Text after = at;
    *stop = NULL;
    if (*at == '\n') {                          /* a blank line */
        for (Text next = at + 1; next < end; next += size_at(next)) {
            if (*next == '\n') after = next + 1;
            else if (!(about(signs, next) & WHITE)) break;
        }
        if (after == at) return at;
        Text last = at;
        while (last > page && about(signs, before(last)) & WHITE) last = before(last);
        *stop = last;
        return after;
    }
    if (about(signs, at) & FULL_STOP) {
        after += size_at(after);
        while (after < end && about(signs, after) & (CLOSING | STOP | FULL_STOP)) after += size_at(after);
        *stop = after;
        return after;
    }
    if (at > page && about(signs, before(at)) & STOP) return at;
    while (after < end && about(signs, after) & STOP) after += size_at(after);
    for (int more = 0; more < 16 && after < end && about(signs, after) & (CLOSING | STOP); more++) after += size_at(after);
    if (after >= end || !(about(signs, after) & (WHITE | CJK))) return at;
    int dot = after == at + 1 && *at == '.';
    if (dot && (abbreviated(page, at, signs) || (at > page && at[-1] == '\n' && abbreviated(page, at - 1, signs)))) return after;
    *stop = after;
    return after;
}

/* The bits of the marks on the bytes they belong to: the first of a word, the last of a sentence. `spots` comes as zeros. */
void find_marks(Text page, long size, Text signs, int word, int sentence, uint8_t *spots)
{
    Text end = page + size, after = page, stop;
    int last = GAP_SIGN;
    for (Text at = page; at < end; at += size_at(at)) {
        uint8_t sign = about(signs, at);
        int kind = sign & KIND;
        if (kind == SINGLE_SIGN || (kind == WORD_SIGN && last != WORD_SIGN)) spots[at - page] |= word;
        last = kind;
        if (sentence && at >= after && (sign & (STOP | FULL_STOP) || *at == '\n')) {
            after = sentence_end(page, at, end, signs, &stop);
            if (stop && stop > page) spots[stop - page - 1] |= sentence;
        }
    }
}

/* From bytes to the tokens that hold them. sizes: bytes of each id. */
void carry_marks(const uint8_t *spots, const int64_t *spans, long texts, const uint32_t *ids, const int64_t *numbers,
                 const uint32_t *sizes, uint8_t *flags)
{
    for (long text = 0; text < texts; text++) {
        const uint8_t *at = spots + spans[2 * text], *end = spots + spans[2 * text + 1];
        for (int64_t i = 0; i < numbers[text]; i++) {
            uint8_t found = 0;
            for (uint32_t left = sizes[*ids++]; left && at < end; left--) found |= *at++;
            *flags++ = found;
        }
    }
}
