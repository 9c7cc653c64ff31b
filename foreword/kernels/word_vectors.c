/* word2vec's inner loop (Mikolov et al. 2013): a vector guesses a word, by negative sampling or along the word's path in a
 * Huffman tree, and all of them move at once. Rows are padded with zeros to whole vectors, so no row has a tail.
 * word_vectors.py has the same in numpy: both draw the same words.
 */
#include "vectors.h"

#define TOGETHER 6           /* outputs that are met at once: a word and five others */
#define SAMPLED 16           /* what guesses cost is reported of one position in so many */

typedef struct { uint32_t least; int32_t other; } noise;        /* Walker's alias: the slot itself below `least`, else the other */

typedef struct {
    float *vectors, *outputs, *own;     /* [rows, width], [rows, deep], [documents, width] */
    const int32_t *ids, *first, *last;  /* the word of each position, and which positions stand around it */
    const int32_t *documents;           /* a row of `own` that also stands there; -1: none */
    const int32_t *places;              /* the number by which a position draws; 0: its own */
    const noise *drawn;                 /* [words]; 0: hierarchical softmax */
    const int32_t *nodes;               /* the paths of all words, one behind the other */
    const float *turns;                 /* what is guessed at each node, 1 or 0 */
    const int64_t *paths;               /* [words + 1] where each begins */
    double *cost;                       /* [threads, 2] nats of the sampled guesses, and how many they were */
    int64_t width, positions, words, negatives, mean, sum, learns_words, learns_outputs, threads;
    int64_t learns_documents, words_only;       /* words_only: a mean is divided by the words alone */
    int64_t deep, before, after, empty; /* side by side: the document, so many words before and after; what stands for none */
    uint64_t seed;
    float rate;
} pass;

INLINE uint64_t mixed(uint64_t x) {     /* splitmix64 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

INLINE int32_t draw(const pass *p, uint64_t place) {
    const uint64_t chance = mixed(p->seed + (place + 1) * 0x9e3779b97f4a7c15u);
    const uint32_t slot = (uint32_t)(((chance >> 32) * (uint64_t)p->words) >> 32);
    return (uint32_t)chance < p->drawn[slot].least ? (int32_t)slot : p->drawn[slot].other;
}

INLINE void ask(const float *row, long width) {
    for (long k = 0; k < width; k += 16) __builtin_prefetch(row + k, 1);
}

/* some distinct outputs meet one vector: `error` grows by what the vector is to learn of them */
INLINE void meet(const pass *p, const float *hidden, float *error, float *const *rows, const float *wanted, int some, double *cost) {
    const long width = p->deep;
    vector sum[TOGETHER];
    for (int o = 0; o < some; o++) sum[o] = (vector){0};
    for (long k = 0; k < width; k += LANES) {
        vector here = load(hidden + k);
        for (int o = 0; o < some; o++) sum[o] += here * load(rows[o] + k);
    }
    float step[16] = {0}, score[16] = {0};
    for (int o = 0; o < some; o++) score[o] = summed(sum[o]);
    for (int k = 0; k < some; k += LANES) {
        vector chance = 1.f / (1.f + exponential(at_most(-load(score + k), 87.f)));
        *(vector *)(step + k) = p->rate * (load(wanted + k) - chance);
    }
    if (cost)
        for (int o = 0; o < some; o++) *cost += log1p(exp(wanted[o] > .5f ? -score[o] : score[o]));
    if (p->learns_outputs)
        for (long k = 0; k < width; k += LANES) {
            vector here = load(hidden + k), learned = load(error + k);
            for (int o = 0; o < some; o++) {
                vector there = load(rows[o] + k);
                learned += step[o] * there;
                *(vector *)(rows[o] + k) = there + step[o] * here;
            }
            *(vector *)(error + k) = learned;
        }
    else
        for (long k = 0; k < width; k += LANES) {
            vector learned = load(error + k);
            for (int o = 0; o < some; o++) learned += step[o] * load(rows[o] + k);
            *(vector *)(error + k) = learned;
        }
}

/* functions of their own: each then has the registers to itself */
#define MEET(N) \
    __attribute__((noinline)) static void meet_##N(const pass *p, const float *hidden, float *error, float *const *rows, \
                                                    const float *wanted, double *cost) { \
        meet(p, hidden, error, rows, wanted, N, cost); \
    }
MEET(1) MEET(2) MEET(3) MEET(4) MEET(5) MEET(6)
static void (*const MEETS[])(const pass *, const float *, float *, float *const *, const float *, double *) = {
    0, meet_1, meet_2, meet_3, meet_4, meet_5, meet_6};

typedef struct { float *rows[TOGETHER]; float wanted[16]; int some; } group;

INLINE void flush(const pass *p, group *g, const float *hidden, float *error, double *cost) {
    if (g->some) MEETS[g->some](p, hidden, error, g->rows, g->wanted, cost);
    g->some = 0;
}

INLINE void add(const pass *p, group *g, int32_t row, float wanted, const float *hidden, float *error, double *cost) {
    float *there = p->outputs + row * p->deep;
    int met = g->some == TOGETHER;
    for (int o = 0; o < g->some; o++) met |= g->rows[o] == there;       /* drawn twice: the second meets what the first left */
    if (met) flush(p, g, hidden, error, cost);
    g->rows[g->some] = there;
    g->wanted[g->some++] = wanted;
}

/* one vector guesses one word */
static void guess(const pass *p, int32_t word, const int32_t *others, const float *hidden, float *error, double *cost) {
    group g = {{0}, {0}, 0};
    memset(error, 0, p->deep * sizeof(float));
    if (p->drawn) {
        add(p, &g, word, 1.f, hidden, error, cost);
        for (long n = 0; n < p->negatives; n++)
            if (others[n] != word) add(p, &g, others[n], 0.f, hidden, error, cost);
    } else
        for (int64_t n = p->paths[word]; n < p->paths[word + 1]; n++)
            add(p, &g, p->nodes[n], p->turns[n], hidden, error, cost);
    flush(p, &g, hidden, error, cost);
}

INLINE void plus(float *to, const float *from, float times, long width) {
    for (long k = 0; k < width; k += LANES) *(vector *)(to + k) = load(to + k) + times * load(from + k);
}

/* the words drawn for one guess: those of guess n of a position are a function of (seed, position, n) */
INLINE void draw_others(const pass *p, long position, long guess, int32_t *others) {
    if (p->drawn && position < p->positions)
        for (long n = 0; n < p->negatives; n++) {
            const uint64_t place = p->places ? p->places[position] : position;
            others[n] = draw(p, (place << 20) + guess * p->negatives + n);
            ask(p->outputs + others[n] * p->deep, p->deep);
        }
}

/* the row that stands at place n around a position: the document's comes first */
INLINE float *around(const pass *p, long t, long n, long document) {
    if (document >= 0 && n-- == 0) return p->own + document * p->width;
    const long place = p->first[t] + n;
    return p->vectors + p->ids[place < t ? place : place + 1] * p->width;
}

/* the same side by side: every place has its own part of the outputs; 0: nothing stands there */
INLINE float *beside(const pass *p, long t, long n, long document) {
    if (n == 0) return document < 0 ? 0 : p->own + document * p->width;
    const long place = n <= p->before ? t - p->before + n - 1 : t + n - p->before;
    const long word = place < p->first[t] || place >= p->last[t] ? p->empty : p->ids[place];
    return word < 0 ? 0 : p->vectors + word * p->width;
}

/* one position guessed from all that stands around it side by side */
static void guess_beside(const pass *p, long t, const int32_t *others, float *room, float *error, double *cost) {
    const long document = p->documents ? p->documents[t] : -1, places = 1 + p->before + p->after;
    memset(room, 0, p->deep * sizeof(float));
    for (long n = 0; n < places; n++) {
        const float *row = beside(p, t, n, document);
        if (row) memcpy(room + n * p->width, row, p->width * sizeof(float));
    }
    guess(p, p->ids[t], others, room, error, cost);
    for (long n = 0; n < places; n++) {
        float *row = beside(p, t, n, document);
        if (row && (n ? p->learns_words : p->learns_documents)) plus(row, error + n * p->width, 1.f, p->width);
    }
}

/* one position guessed from the mean or the sum of all that stands around it */
static void guess_pooled(const pass *p, long t, const int32_t *others, float *room, float *error, double *cost) {
    const long document = p->documents ? p->documents[t] : -1, own = document >= 0;
    const long words = p->last[t] - p->first[t] - 1, inputs = words + own;
    memset(room, 0, p->width * sizeof(float));
    for (long n = 0; n < inputs; n++) plus(room, around(p, t, n, document), 1.f, p->width);
    if (!p->sum) plus(room, room, 1.f / (p->words_only && words ? words : inputs) - 1.f, p->width);
    guess(p, p->ids[t], others, room, error, cost);
    for (long n = 0; n < inputs; n++)
        if (own && n == 0 ? p->learns_documents : p->learns_words) plus(around(p, t, n, document), error, 1.f, p->width);
}

/* positions [from, to) of one thread, with `room` of its own for two hidden vectors and two draws of other words */
static void stretch(const pass *p, long from, long to, float *room, double *report) {
    float *error = room + p->deep + 16;
    int32_t *others = (int32_t *)(error + p->deep), *next = others + p->negatives;
    if (from < to) draw_others(p, from, 0, others);
    for (long t = from; t < to; t++) {
        const long document = p->documents ? p->documents[t] : -1, own = document >= 0;
        const long inputs = p->last[t] - p->first[t] - 1 + own;
        const long guesses = p->deep > p->width ? 1 : p->mean ? inputs > 0 : inputs;
        double nats = 0, *cost = t % SAMPLED ? 0 : &nats;
        if (!guesses) draw_others(p, t + 1, 0, others);
        for (long g = 0; g < guesses; g++) {
            draw_others(p, t + (g + 1 == guesses), (g + 1) % guesses, next);
            if (p->deep > p->width)
                guess_beside(p, t, others, room, error, cost);
            else if (p->mean)
                guess_pooled(p, t, others, room, error, cost);
            else {
                float *hidden = around(p, t, g, document);
                guess(p, p->ids[t], others, hidden, error, cost);
                if (own && g == 0 ? p->learns_documents : p->learns_words) plus(hidden, error, 1.f, p->width);
            }
            int32_t *swapped = others;
            others = next, next = swapped;
        }
        if (cost) report[0] += nats, report[1] += guesses;
    }
}

/* -1 for want of memory: nothing has been learned then */
int learn(const pass *p) {
    const long threads = p->threads < 1 ? 1 : p->threads;
    const long each = (2 * p->deep + 16 + 2 * p->negatives + 1 + 1023) / 1024 * 1024;       /* floats, whole pages */
    float *room = aligned_alloc(4096, threads * each * sizeof(float));
    if (!room) return -1;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (long n = 0; n < threads; n++)
        stretch(p, p->positions * n / threads, p->positions * (n + 1) / threads, room + n * each, p->cost + 2 * n);
    free(room);
    return 0;
}
