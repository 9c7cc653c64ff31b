/* Decoding: linear maps of few rows, attention over a cache, and whole programs of such steps for one token per row.
 *
 * Nothing is allocated inside a step: what the threads need is allocated before they start. Functions that allocate return 0,
 * or -1 for want of memory, and then have done nothing.
 */
#include "matvec.h"
#ifdef _OPENMP
#include <omp.h>
#include <sched.h>
#endif

#define SERIAL (1 << 17)     /* so few multiplications are done before a second thread has woken */
#define LOOKS 100            /* how often a thread looks for the others before it lets someone else have the processor */

/* Threads that wait for each other by looking: a step takes less time than waking from sleep. */
typedef struct {
    _Alignas(64) int arrived;
    _Alignas(64) int round;
} gate;

static void wait_for_all(gate *at, long threads) {
#ifdef _OPENMP
    if (threads == 1) return;
    const int round = __atomic_load_n(&at->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&at->arrived, 1, __ATOMIC_ACQ_REL) == threads) {
        __atomic_store_n(&at->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&at->round, round + 1, __ATOMIC_RELEASE);
        return;
    }
    for (long looks = 0; __atomic_load_n(&at->round, __ATOMIC_ACQUIRE) == round; looks++)
        if (looks >= LOOKS) sched_yield();
#if defined(__x86_64__) || defined(__i386__)
        else __builtin_ia32_pause();
#endif
#endif
}

#ifdef _OPENMP
#define THREAD omp_get_thread_num()
#define THREADS omp_get_num_threads()
#else
#define THREAD 0
#define THREADS 1
#endif

#define PAGE 4096            /* bytes; processors fetch ahead within a page, and so would take lines that another thread writes */

/* Threads do their part of the work, each with room for `each` floats, on pages of its own. */
static int in_parallel(void (*work)(const void *, float *, long, long), const void *what, long each, long most) {
    each = (each * sizeof(float) / PAGE + 1) * PAGE / sizeof(float);
    float *room = aligned_alloc(PAGE, sizeof(float) * each * (most < 1 ? 1 : most));
    if (!room) return -1;
#pragma omp parallel num_threads(most) if (most > 1)
    work(what, room + THREAD * each, THREAD, THREADS);
    free(room);
    return 0;
}

/* out [rows, outputs] = residual + activation(x [rows, inputs] times weight [outputs, inputs] transposed, + bias).
 * A residual may be `out` itself where there is no activation. */
int linear(const float *x, const void *weight, const float *bias, const float *scale, const float *residual, float *out,
           long rows, long inputs, long outputs, long activation, long most) {
    const linear_map p = {x, bias, scale, residual, weight, out, rows, inputs, outputs, scale != 0, activation};
    return in_parallel(multiply, &p, scratch_of(&p), rows * inputs * outputs < SERIAL ? 1 : most);
}

/* one query looks at the first `length` places; scores has room for a multiple of LANES */
static void look(const float *query, const float *keys, const float *values, float *out, long length, long size, float *scores) {
    const float scale = 1.f / sqrtf((float)size);
    float most = -INFINITY;
    long padded = (length + LANES - 1) / LANES * LANES;
    for (long i = 0; i < length; i++) {
        scores[i] = dot(query, keys + i * size, size) * scale;
        most = scores[i] > most ? scores[i] : most;
    }
    for (long i = length; i < padded; i++) scores[i] = -INFINITY;
    vector total = {0};
    for (long i = 0; i < padded; i += LANES) {
        vector share = exponential(load(scores + i) - most);
        *(vector *)(scores + i) = share;
        total += share;
    }
    float all = summed(total);
    for (long i = length; i < padded; i++) all -= scores[i];
    long at = 0;
    for (; at + 4 * LANES <= size; at += 4 * LANES) {
        vector a = {0}, b = {0}, c = {0}, d = {0};
        for (long i = 0; i < length; i++) {
            const float *value = values + i * size + at;
            a += scores[i] * load(value), b += scores[i] * load(value + LANES);
            c += scores[i] * load(value + 2 * LANES), d += scores[i] * load(value + 3 * LANES);
        }
        *(vector *)(out + at) = a / all, *(vector *)(out + at + LANES) = b / all;
        *(vector *)(out + at + 2 * LANES) = c / all, *(vector *)(out + at + 3 * LANES) = d / all;
    }
    for (; at + LANES <= size; at += LANES) {
        vector a = {0};
        for (long i = 0; i < length; i++) a += scores[i] * load(values + i * size + at);
        *(vector *)(out + at) = a / all;
    }
    for (; at < size; at++) {
        float a = 0;
        for (long i = 0; i < length; i++) a += scores[i] * values[i * size + at];
        out[at] = a / all;
    }
}

typedef struct {
    const float *queries, *keys, *values;           /* of the new token [rows, heads, size], from row to row `row` */
    float *kept_keys, *kept_values, *out;           /* [rows, heads, room, size], out [rows, heads, size] */
    const int64_t *lengths;
    long rows, heads, room, size, window, query_row, key_row, value_row;
} attention_of;

/* how much a row sees: its own first `lengths` places and the new token, if there is one, or the last `window` of those */
INLINE long seen(const attention_of *a, long row) {
    const long length = a->lengths[row] + (a->keys != 0);
    return a->window && length > a->window ? a->window : length;
}

/* what one of some threads does; `scores` has room for the longest row and LANES more */
static void attention(const void *what, float *scores, long thread, long threads) {
    const attention_of *a = what;
    const long all = a->rows * a->heads;
    for (long i = all * thread / threads; i < all * (thread + 1) / threads; i++) {
        const long row = i / a->heads, head = i % a->heads, length = seen(a, row);
        const long place = (i * a->room + a->lengths[row] + (a->keys != 0) - length) * a->size;
        if (a->keys) {                       /* the new token's take their place in the cache */
            const long new = (i * a->room + a->lengths[row]) * a->size;
            memcpy(a->kept_keys + new, a->keys + row * a->key_row + head * a->size, a->size * sizeof(float));
            memcpy(a->kept_values + new, a->values + row * a->value_row + head * a->size, a->size * sizeof(float));
        }
        look(a->queries + row * a->query_row + head * a->size, a->kept_keys + place, a->kept_values + place, a->out + i * a->size,
             length, a->size, scores);
    }
}

/* queries [rows, heads, size] look at keys and values [rows, heads, room, size]: each row at its own first `lengths`,
 * or only at the last `window` of them, if that is not 0 */
int attend(const float *queries, long query_row, float *keys, float *values, const int64_t *lengths, long window, float *out,
           long rows, long heads, long room, long size, long most) {
    const attention_of a = {queries, 0, 0, keys, values, out, lengths, rows, heads, room, size, window, query_row, 0, 0};
    long work = 0, each = LANES;
    for (long row = 0; row < rows; row++) {
        work += seen(&a, row) * heads * size * 2;
        if (seen(&a, row) + LANES > each) each = seen(&a, row) + LANES;
    }
    return in_parallel(attention, &a, each, work < SERIAL ? 1 : most);
}

/* to zero mean (unless `root`: root mean square alone) and unit size */
static void norm(const float *x, const float *gain, const float *offset, float *out, long size, double epsilon, int root) {
    float mean = 0, square = 0;
    vector sum = {0}, squares = {0};
    long i = 0;
    if (!root) {
        for (; i + LANES <= size; i += LANES) sum += load(x + i);
        for (mean = summed(sum); i < size; i++) mean += x[i];
        mean /= size;
    }
    for (i = 0; i + LANES <= size; i += LANES) squares += (load(x + i) - mean) * (load(x + i) - mean);
    for (square = summed(squares); i < size; i++) square += (x[i] - mean) * (x[i] - mean);
    float scale = 1.f / sqrtf(square / size + (float)epsilon);
    for (i = 0; i + LANES <= size; i += LANES) {
        vector value = (load(x + i) - mean) * scale;
        if (gain) value *= load(gain + i);
        if (offset) value += load(offset + i);
        *(vector *)(out + i) = value;
    }
    for (; i < size; i++) {
        float value = (x[i] - mean) * scale;
        if (gain) value *= gain[i];
        out[i] = offset ? value + offset[i] : value;
    }
}

/* A program: what one token per row goes through, one step after the other, without a word of Python in between. */
enum { EMBED, LAYER_NORM, RMS_NORM, ROTARY, LINEAR, ATTENTION };        /* as decode.py numbers them */

typedef struct {
    int64_t kind;
    float *from, *to;                        /* [rows, ...] */
    const float *first, *second, *third, *residual;
    int64_t a, b, c, d;
    double epsilon;
} instruction;

typedef struct {
    const instruction *steps;
    long count, rows, room;
    const int64_t *ids, *lengths;
    float *kept;                             /* [layers, 2, rows, heads, room, size] */
    gate *at;
} program;

INLINE linear_map as_linear(const instruction *now, long rows) {
    return (linear_map){now->from, now->second, now->third, now->residual, now->first, now->to, rows, now->a, now->b,
                        now->third != 0, now->c};
}

/* one thread's part of one step, with scratch of its own; rows, outputs or heads are shared out */
static void step(const program *p, const instruction *now, float *mine, long thread, long threads) {
    const long a = now->a, b = now->b, c = now->c, d = now->d, rows = p->rows;
    const int64_t *lengths = p->lengths;
    const long first = rows * thread / threads, last = rows * (thread + 1) / threads;
    if (now->kind == EMBED) {                /* tables of tokens and of positions, a: width */
        for (long row = first; row < last; row++)
            for (long i = 0; i < a; i++)
                now->to[row * a + i] = now->first[p->ids[row] * a + i] + (now->second ? now->second[lengths[row] * a + i] : 0.f);
    } else if (now->kind == LAYER_NORM || now->kind == RMS_NORM) {              /* a: size, b: groups, c, d: from row to row */
        for (long row = first; row < last; row++)
            for (long group = 0; group < b; group++)
                norm(now->from + row * c + group * a, now->first, now->second, now->to + row * d + group * a, a, now->epsilon,
                     now->kind == RMS_NORM);
    } else if (now->kind == ROTARY) {          /* cosines and sines [positions, a / 2], a: size, b: groups, c: from row to row */
        for (long row = first; row < last; row++)
            for (long group = 0; group < b; group++)
                for (long i = 0; i < a / 2; i++) {
                    float *x = now->to + row * c + group * a + i, left = x[0], right = x[a / 2];
                    float cosine = now->first[lengths[row] * (a / 2) + i], sine = now->second[lengths[row] * (a / 2) + i];
                    x[0] = left * cosine + right * sine, x[a / 2] = right * cosine - left * sine;
                }
    } else if (now->kind == LINEAR) {       /* weight, bias, scale; a: inputs, b: outputs, c: activation */
        const linear_map map = as_linear(now, rows);
        multiply(&map, mine, thread, threads);
    } else if (now->kind == ATTENTION) {        /* from: queries, keys and values; a: heads, b: size, c: layer, d: window */
        const long width = a * b, layer = rows * a * p->room * b;
        float *keys = p->kept + 2 * c * layer;
        const attention_of one = {now->from, now->from + width, now->from + 2 * width, keys, keys + layer, now->to, lengths, rows, a,
                                  p->room, b, d, 3 * width, 3 * width, 3 * width};
        attention(&one, mine, thread, threads);
    }
}

static void all_steps(const void *what, float *mine, long thread, long threads) {
    const program *p = what;
    for (const instruction *now = p->steps; now < p->steps + p->count; now++) {
        step(p, now, mine, thread, threads);
        wait_for_all(p->at, threads);
    }
}

/* Threads are woken once for all steps. */
int run(const instruction *steps, long count, long rows, const int64_t *ids, const int64_t *lengths, float *kept, long room,
        long most) {
    gate at = {0, 0};
    const program p = {steps, count, rows, room, ids, lengths, kept, &at};
    long work = 0, each = 0;
    for (long row = 0; row < rows; row++)
        if (lengths[row] + 1 + LANES > each) each = lengths[row] + 1 + LANES;
    for (const instruction *now = steps; now < steps + count; now++) {
        if (now->kind != LINEAR) continue;
        const linear_map map = as_linear(now, rows);
        if (scratch_of(&map) > each) each = scratch_of(&map);
        work += rows * now->a * now->b;
    }
    return in_parallel(all_steps, &p, each, work < 4 * SERIAL ? 1 : most);
}
