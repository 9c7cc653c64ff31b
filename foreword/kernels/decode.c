/* Products with few rows: each weight is read once, as fast as memory gives it, and meets every row while it is at hand.
 *
 * Vectors are GCC's and clang's own, so the same lines are AVX-512, AVX2 or whatever a processor has; -DPORTABLE uses the
 * narrowest. Any width is right: what does not fill a vector is added one by one.
 */
#include "vectors.h"
#ifdef _OPENMP
#include <omp.h>
#include <sched.h>
#endif

#define ABREAST (LANES == 16 ? 6 : LANES == 8 ? 3 : 2)       /* rows whose sums, with 4 outputs, fill the registers */
#define OUTPUTS 4            /* outputs made together, so that a row is read once for four of them */
#define SERIAL (1 << 17)     /* so few multiplications are done before a second thread has woken */
#define FINER 32768.f        /* the second of two int16 counts steps so much smaller than the first */
#define LOOKS 100            /* how often a thread looks for the others before it lets someone else have the processor */

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int16_t shorts __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

INLINE vector as_floats(whole v) { return __builtin_convertvector(v, vector); }

INLINE vector load_bytes(const int8_t *from) {
#if LANES == 16
    return (vector)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
#elif LANES == 8
    return (vector)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)from)));
#else
    return __builtin_convertvector(*(const bytes *)from, vector);
#endif
}

/* sum + 2 * LANES bytes times as many int16: the products of neighbours go to one lane */
INLINE whole meet(whole sum, const int8_t *w, const int16_t *x) {
#if LANES == 16 && defined(__AVX512BW__)
    __m512i here = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)w)), there = _mm512_loadu_si512(x);
#ifdef __AVX512VNNI__
    return (whole)_mm512_dpwssd_epi32((__m512i)sum, here, there);
#else
    return sum + (whole)_mm512_madd_epi16(here, there);
#endif
#elif LANES == 8
    __m256i here = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w)), there = _mm256_loadu_si256((const __m256i *)x);
    return sum + (whole)_mm256_madd_epi16(here, there);
#else
    for (int half = 0; half < 2 * LANES; half += LANES)
        sum += __builtin_convertvector(*(const bytes *)(w + half), whole) * __builtin_convertvector(*(const shorts *)(x + half), whole);
    return sum;
#endif
}

/* four sums at once take little longer than one */
INLINE four summed_four(vector a, vector b, vector c, vector d) {
#if LANES == 16
    __m512 first = _mm512_add_ps(_mm512_unpacklo_ps((__m512)a, (__m512)b), _mm512_unpackhi_ps((__m512)a, (__m512)b));
    __m512 second = _mm512_add_ps(_mm512_unpacklo_ps((__m512)c, (__m512)d), _mm512_unpackhi_ps((__m512)c, (__m512)d));
    __m512 both = _mm512_add_ps(_mm512_shuffle_ps(first, second, 0x44), _mm512_shuffle_ps(first, second, 0xEE));
    __m256 half = _mm256_add_ps(_mm512_castps512_ps256(both), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(both), 1)));
    return (four)_mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
#elif LANES == 8
    __m256 both = _mm256_hadd_ps(_mm256_hadd_ps((__m256)a, (__m256)b), _mm256_hadd_ps((__m256)c, (__m256)d));
    return (four)_mm_add_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1));
#else
    return (four){summed(a), summed(b), summed(c), summed(d)};
#endif
}

enum { NONE, RELU, RELU_SQUARED, GELU_TANH, GELU_ERF };

INLINE vector activated(vector x, int kind) {
    const vector none = {0};
    vector positive = either(x > 0, x, none);
    if (kind == RELU) return positive;
    if (kind == RELU_SQUARED) return positive * positive;
    if (kind == GELU_TANH) return x / (1.f + exponential(at_most(-1.5957691216f * (x + 0.044715f * x * x * x), 87.f)));
    if (kind == GELU_ERF) {      /* Abramowitz & Stegun 7.1.26: what is left of 1 beyond |x|, to 1.5e-7 */
        vector z = either(x < 0, -x, x) * 0.70710678f, t = 1.f / (1.f + 0.3275911f * z);
        vector p = none + 1.061405429f;
        p = p * t - 1.453152027f;
        p = p * t + 1.421413741f;
        p = p * t - 0.284496736f;
        p = p * t + 0.254829592f;
        vector beyond = .5f * p * t * exponential(-z * z);
        return x * either(x > 0, 1.f - beyond, beyond);
    }
    return x;
}

typedef struct {
    const float *x, *bias, *scale, *residual;       /* scale [2, outputs]: a weight is byte * scale[0] + scale[1] */
    const void *weight;
    float *out;
    long rows, inputs, outputs, small, activation;
} product_of;

/* One row of x in two int16 for each number, (coarse + fine / FINER) * step: all the bits that a float has. */
typedef struct {
    int16_t *coarse, *fine;
    float step;
} rounded;

INLINE float total(const float *x, long size) {
    vector sum = {0};
    long k = 0;
    for (; k + LANES <= size; k += LANES) sum += load(x + k);
    float value = summed(sum);
    for (; k < size; k++) value += x[k];
    return value;
}

/* `totals`: the sum of each row of x, which the second of the scales meets */
INLINE void written(const product_of *p, const float *totals, long output, long row, four value) {
    const long place = row * p->outputs + output;
    if (p->scale) value = value * *(const four *)(p->scale + output) + *(const four *)(p->scale + p->outputs + output) * totals[row];
    if (p->bias) value += *(const four *)(p->bias + output);
    if (p->residual && p->activation == NONE) value += *(const four *)(p->residual + place);
    *(four *)(p->out + place) = value;
}

/* four outputs of `abreast` rows */
INLINE void block(const product_of *p, const float *w, const float *totals, long output, long row, int abreast, long ahead) {
    vector sum[OUTPUTS][ABREAST];
    const long inputs = p->inputs, line = 16;
    const float *x = p->x + row * inputs;
    long k = 0;
    for (int o = 0; o < OUTPUTS; o++)
        for (int b = 0; b < abreast; b++) sum[o][b] = (vector){0};
    for (; k + line <= inputs; k += line) {
        if (ahead)
            for (int o = 0; o < OUTPUTS; o++) __builtin_prefetch((const char *)(w + o * inputs + k) + ahead);
#pragma GCC unroll 4
        for (long j = k; j < k + line; j += LANES) {
            vector there[ABREAST];
            for (int b = 0; b < abreast; b++) there[b] = load(x + b * inputs + j);
            for (int o = 0; o < OUTPUTS; o++) {
                vector here = load(w + o * inputs + j);
                for (int b = 0; b < abreast; b++) sum[o][b] += here * there[b];
            }
        }
    }
    for (; k + LANES <= inputs; k += LANES)
        for (int o = 0; o < OUTPUTS; o++)
            for (int b = 0; b < abreast; b++) sum[o][b] += load(w + o * inputs + k) * load(x + b * inputs + k);
    for (int b = 0; b < abreast; b++) {
        four value = summed_four(sum[0][b], sum[1][b], sum[2][b], sum[3][b]);
        for (long j = k; j < inputs; j++)
            for (int o = 0; o < OUTPUTS; o++) value[o] += w[o * inputs + j] * x[b * inputs + j];
        written(p, totals, output, row + b, value);
    }
}

/* Four outputs of one row with weights in bytes: whole numbers to the end, since to make floats of them takes longer than reading. */
INLINE void block_of_bytes(const product_of *p, const int8_t *w, const rounded *r, const float *totals, long output, long ahead) {
    whole coarse[OUTPUTS], fine[OUTPUTS];
    const long inputs = p->inputs, line = 64;
    long k = 0;
    for (int o = 0; o < OUTPUTS; o++) coarse[o] = fine[o] = (whole){0};
    for (; k + line <= inputs; k += line) {
        for (int o = 0; o < OUTPUTS; o++) __builtin_prefetch(w + o * inputs + k + ahead);
#pragma GCC unroll 8
        for (long j = k; j < k + line; j += 2 * LANES)
            for (int o = 0; o < OUTPUTS; o++) {
                coarse[o] = meet(coarse[o], w + o * inputs + j, r->coarse + j);
                fine[o] = meet(fine[o], w + o * inputs + j, r->fine + j);
            }
    }
    for (; k + 2 * LANES <= inputs; k += 2 * LANES)
        for (int o = 0; o < OUTPUTS; o++) {
            coarse[o] = meet(coarse[o], w + o * inputs + k, r->coarse + k);
            fine[o] = meet(fine[o], w + o * inputs + k, r->fine + k);
        }
    vector sum[OUTPUTS];
    for (int o = 0; o < OUTPUTS; o++) sum[o] = as_floats(coarse[o]) + as_floats(fine[o]) * (1.f / FINER);
    four value = summed_four(sum[0], sum[1], sum[2], sum[3]) * r->step;
    for (; k < inputs; k++)
        for (int o = 0; o < OUTPUTS; o++) value[o] += w[o * inputs + k] * p->x[k];
    written(p, totals, output, 0, value);
}

/* one output of one row: what is left where outputs do not come in fours */
static void single(const product_of *p, const float *totals, long output, long row) {
    const long place = row * p->outputs + output, from = output * p->inputs;
    const float *x = p->x + row * p->inputs;
    float value = 0;
    for (long k = 0; k < p->inputs; k++)
        value += (p->small ? (float)((const int8_t *)p->weight)[from + k] : ((const float *)p->weight)[from + k]) * x[k];
    if (p->scale) value = value * p->scale[output] + p->scale[p->outputs + output] * totals[row];
    if (p->bias) value += p->bias[output];
    if (p->residual && p->activation == NONE) value += p->residual[place];
    p->out[place] = value;
}

INLINE whole nearest(vector x) {
    const vector none = {0};
    return __builtin_convertvector(x + either(x < 0, none - .5f, none + .5f), whole);
}

/* Steps so large that a lane's sum fits 32 bits whatever the weights are. What is no number stays none. */
static void round_row(const product_of *p, rounded *r) {
    const long inputs = p->inputs / LANES * LANES, in_a_lane = (inputs + 2 * LANES - 1) / (2 * LANES) * 2;
    const float top = in_a_lane * 128 * 32767.0 < 2147483647.0 ? 32767.f : floorf(2147483647.f / (in_a_lane * 128));
    const vector none = {0};
    vector most = none, sound = none;
    float largest = 0;
    for (long k = 0; k < inputs; k += LANES) {
        vector here = load(p->x + k), size = either(here < 0, -here, here);
        most = either(size > most, size, most);
        sound += here * 0.f;
    }
    for (int i = 0; i < LANES; i++) largest = most[i] > largest ? most[i] : largest;
    const float step = largest / top, steps = step > 0 ? top / largest : 0;
    r->step = step + summed(sound);
    for (long k = 0; k < inputs; k += LANES) {
        vector scaled = load(p->x + k) * steps;
        whole coarse = nearest(scaled);
        *(shorts *)(r->coarse + k) = __builtin_convertvector(coarse, shorts);
        *(shorts *)(r->fine + k) = __builtin_convertvector(nearest((scaled - as_floats(coarse)) * FINER), shorts);
    }
}

/* all rows meet a few outputs, as many abreast as the registers hold */
INLINE void every_row(const product_of *p, const float *w, const float *totals, long output, long ahead) {
    long row = 0;
    while (row < p->rows) {
        long left = p->rows - row;
        int abreast = 1;
#if ABREAST == 6
        if (left >= 6 && left != 8) block(p, w, totals, output, row, abreast = 6, ahead);
        else if (left >= 4) block(p, w, totals, output, row, abreast = 4, ahead);
        else
#endif
#if ABREAST == 3
        if (left >= 3 && left != 4) block(p, w, totals, output, row, abreast = 3, ahead);
        else
#endif
        if (left >= 2) block(p, w, totals, output, row, abreast = 2, ahead);
        else block(p, w, totals, output, row, abreast = 1, ahead);
        row += abreast;
        ahead = 0;                                  /* the weights are at hand after the first rows */
    }
}

static void finished(const product_of *p, long first, long last) {
    for (long row = 0; row < p->rows; row++) {
        float *out = p->out + row * p->outputs;
        const float *residual = p->residual ? p->residual + row * p->outputs : 0;
        for (long o = first; o < last; o += LANES) {
            long there = last - o < LANES ? last - o : LANES;
            float some[LANES] = {0};
            memcpy(some, out + o, there * sizeof(float));
            vector value = activated(load(some), p->activation);
            *(vector *)some = value;
            if (residual)
                for (long i = 0; i < there; i++) some[i] += residual[o + i];
            memcpy(out + o, some, there * sizeof(float));
        }
    }
}

/* bytes become floats once for all rows */
INLINE const float *unpacked(const int8_t *packed, float *room, long size, long ahead) {
    long k = 0;
    for (; k + LANES <= size; k += LANES) {
        __builtin_prefetch(packed + k + ahead);
        *(vector *)(room + k) = load_bytes(packed + k);
    }
    for (; k < size; k++) room[k] = packed[k];
    return room;
}

/* what one of some threads does of a product */
static void multiply(const product_of *p, long thread, long threads) {
    const long blocks = p->outputs / OUTPUTS, inputs = p->inputs, size = OUTPUTS * inputs, next = size * (p->small ? 1 : 4);
    const long near = next > 16384 ? 16384 : next;                /* bytes ahead that are asked of memory */
    const long first = blocks * thread / threads * OUTPUTS;
    const long last = thread + 1 == threads ? p->outputs : blocks * (thread + 1) / threads * OUTPUTS;
    float *room = p->small ? aligned_alloc(64, (sizeof(float) * (size + p->rows) + 63) / 64 * 64) : 0, *totals = room + size;
    rounded r = {(int16_t *)room, (int16_t *)room + size, 0};     /* one row needs less than four outputs of several */
    if (p->small && p->rows == 1) round_row(p, &r);               /* each thread for itself: quicker than waiting for another's */
    for (long row = 0; p->small && row < p->rows; row++) totals[row] = total(p->x + row * inputs, inputs);
    long output = first;
    for (; output + OUTPUTS <= last; output += OUTPUTS) {
        const int8_t *packed = (const int8_t *)p->weight + output * inputs;
        if (!p->small) every_row(p, (const float *)p->weight + output * inputs, totals, output, near);
        else if (p->rows == 1) block_of_bytes(p, packed, &r, totals, output, near);
        else every_row(p, unpacked(packed, room, size, near), totals, output, 0);
    }
    for (; output < last; output++)
        for (long row = 0; row < p->rows; row++) single(p, totals, output, row);
    free(room);
    if (p->activation != NONE) finished(p, first, last);
}

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

/* out [rows, outputs] = residual + activation(x [rows, inputs] times weight [outputs, inputs] transposed, + bias).
 * A residual may be `out` itself where there is no activation. */
void product(const float *x, const void *weight, const float *bias, const float *scale, const float *residual, float *out,
             long rows, long inputs, long outputs, long activation, long most) {
    const product_of p = {x, bias, scale, residual, weight, out, rows, inputs, outputs, scale != 0, activation};
    if (rows * inputs * outputs < SERIAL) most = 1;
#pragma omp parallel num_threads(most) if (most > 1)
    multiply(&p, THREAD, THREADS);
}

INLINE float dot(const float *a, const float *b, long size) {
    vector sum = {0}, other = {0};
    long i = 0;
    for (; i + 2 * LANES <= size; i += 2 * LANES) {
        sum += load(a + i) * load(b + i);
        other += load(a + i + LANES) * load(b + i + LANES);
    }
    for (; i + LANES <= size; i += LANES) sum += load(a + i) * load(b + i);
    float total = summed(sum + other);
    for (; i < size; i++) total += a[i] * b[i];
    return total;
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

/* keys and values of one more token take their place in a cache */
INLINE void keep_one(const attention_of *a, long row, long head) {
    const long place = ((row * a->heads + head) * a->room + a->lengths[row]) * a->size;
    memcpy(a->kept_keys + place, a->keys + row * a->key_row + head * a->size, a->size * sizeof(float));
    memcpy(a->kept_values + place, a->values + row * a->value_row + head * a->size, a->size * sizeof(float));
}

/* how much a row sees: its own first `lengths` places and the new token, if there is one, or the last `window` of those */
INLINE long seen(const attention_of *a, long row) {
    const long length = a->lengths[row] + (a->keys != 0);
    return a->window && length > a->window ? a->window : length;
}

/* what one of some threads does */
static void attention(const attention_of *a, long thread, long threads) {
    const long all = a->rows * a->heads;
    long longest = 0;
    for (long row = 0; row < a->rows; row++) longest = seen(a, row) > longest ? seen(a, row) : longest;
    float *scores = malloc(sizeof(float) * (longest + LANES));
    for (long i = all * thread / threads; i < all * (thread + 1) / threads; i++) {
        const long row = i / a->heads, head = i % a->heads, length = seen(a, row);
        const long place = (i * a->room + a->lengths[row] + (a->keys != 0) - length) * a->size;
        if (a->keys) keep_one(a, row, head);
        look(a->queries + row * a->query_row + head * a->size, a->kept_keys + place, a->kept_values + place, a->out + i * a->size,
             length, a->size, scores);
    }
    free(scores);
}

/* queries [rows, heads, size] look at keys and values [rows, heads, room, size]: each row at its own first `lengths`,
 * or only at the last `window` of them, if that is not 0 */
void attend(const float *queries, long query_row, float *keys, float *values, const int64_t *lengths, long window, float *out,
            long rows, long heads, long room, long size, long most) {
    const attention_of a = {queries, 0, 0, keys, values, out, lengths, rows, heads, room, size, window, query_row, 0, 0};
    long work = 0;
    for (long row = 0; row < rows; row++) work += seen(&a, row) * heads * size * 2;
    if (work < SERIAL) most = 1;
#pragma omp parallel num_threads(most) if (most > 1)
    attention(&a, THREAD, THREADS);
}

/* keys and values [rows, heads, size] of one more token take their place in a cache [rows, heads, room, size] */
void keep(const float *keys, long key_row, const float *values, long value_row, const int64_t *lengths, float *kept_keys,
          float *kept_values, long rows, long heads, long room, long size) {
    const attention_of a = {0, keys, values, kept_keys, kept_values, 0, lengths, rows, heads, room, size, 0, 0, key_row, value_row};
    for (long row = 0; row < rows; row++)
        for (long head = 0; head < heads; head++) keep_one(&a, row, head);
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
enum { EMBED, NORM_LAYER, NORM_ROOT, TURN, PRODUCT, ATTEND };

typedef struct {
    int64_t kind;
    float *from, *to;                        /* [rows, ...] */
    const float *first, *second, *third, *residual;
    int64_t a, b, c, d;
    double epsilon;
} instruction;

/* one thread's part of one step; rows, outputs or heads are shared out */
static void step(const instruction *now, long rows, const int64_t *ids, const int64_t *lengths, float *kept, long room, long thread,
                 long threads) {
    const long a = now->a, b = now->b, c = now->c, d = now->d;
    const long first = rows * thread / threads, last = rows * (thread + 1) / threads;
    if (now->kind == EMBED) {                /* tables of tokens and of positions, a: width */
        for (long row = first; row < last; row++)
            for (long i = 0; i < a; i++)
                now->to[row * a + i] = now->first[ids[row] * a + i] + (now->second ? now->second[lengths[row] * a + i] : 0.f);
    } else if (now->kind == NORM_LAYER || now->kind == NORM_ROOT) {              /* a: size, b: groups, c, d: from row to row */
        for (long row = first; row < last; row++)
            for (long group = 0; group < b; group++)
                norm(now->from + row * c + group * a, now->first, now->second, now->to + row * d + group * a, a, now->epsilon,
                     now->kind == NORM_ROOT);
    } else if (now->kind == TURN) {          /* cosines and sines [positions, a / 2], a: size, b: groups, c: from row to row */
        for (long row = first; row < last; row++)
            for (long group = 0; group < b; group++)
                for (long i = 0; i < a / 2; i++) {
                    float *x = now->to + row * c + group * a + i, left = x[0], right = x[a / 2];
                    float cosine = now->first[lengths[row] * (a / 2) + i], sine = now->second[lengths[row] * (a / 2) + i];
                    x[0] = left * cosine + right * sine, x[a / 2] = right * cosine - left * sine;
                }
    } else if (now->kind == PRODUCT) {       /* weight, bias, scale; a: inputs, b: outputs, c: activation */
        const product_of p = {now->from, now->second, now->third, now->residual, now->first, now->to, rows, a, b,
                              now->third != 0, c};
        multiply(&p, thread, threads);
    } else if (now->kind == ATTEND) {        /* from: queries, keys and values; a: heads, b: size, c: layer, d: window */
        const long width = a * b, layer = rows * a * room * b;
        float *keys = kept + 2 * c * layer;
        const attention_of one = {now->from, now->from + width, now->from + 2 * width, keys, keys + layer, now->to, lengths, rows, a,
                                  room, b, d, 3 * width, 3 * width, 3 * width};
        attention(&one, thread, threads);
    }
}

/* Threads are woken once for all steps. */
void run(const instruction *program, long count, long rows, const int64_t *ids, const int64_t *lengths, float *kept, long room,
         long most) {
    gate at = {0, 0};
    long work = 0;
    for (const instruction *now = program; now < program + count; now++)
        if (now->kind == PRODUCT) work += rows * now->a * now->b;
    if (work < 4 * SERIAL) most = 1;
#pragma omp parallel num_threads(most) if (most > 1)
    for (const instruction *now = program; now < program + count; now++) {
        step(now, rows, ids, lengths, kept, room, THREAD, THREADS);
        wait_for_all(&at, THREADS);
    }
}
