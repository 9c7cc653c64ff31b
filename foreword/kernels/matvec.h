/* Linear maps of few rows: each weight is read once, as fast as memory gives it, and meets every row while it is at hand.
 * Any width is right: what does not fill a vector is added one by one.
 */
#include "vectors.h"

#define ABREAST (LANES == 16 ? 6 : LANES == 8 ? 3 : 2)       /* rows whose sums, with 4 outputs, fill the registers */
#define OUTPUTS 4            /* outputs made together, so that a row is read once for four of them */
#define FINER 32768.f        /* the second of two int16 counts steps so much smaller than the first */

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
} linear_map;

/* One row of x in two int16 for each number, (coarse + fine / FINER) * step: all the bits that a float has. */
typedef struct {
    int16_t *coarse, *fine;
    float step;
} rounded;

INLINE float sum_of(const float *x, long size) {
    vector sum = {0};
    long k = 0;
    for (; k + LANES <= size; k += LANES) sum += load(x + k);
    float value = summed(sum);
    for (; k < size; k++) value += x[k];
    return value;
}

/* `totals`: the sum of each row of x, which the second of the scales meets */
INLINE void written(const linear_map *p, const float *totals, long output, long row, four value) {
    const long place = row * p->outputs + output;
    if (p->scale) value = value * *(const four *)(p->scale + output) + *(const four *)(p->scale + p->outputs + output) * totals[row];
    if (p->bias) value += *(const four *)(p->bias + output);
    if (p->residual && p->activation == NONE) value += *(const four *)(p->residual + place);
    *(four *)(p->out + place) = value;
}

/* four outputs of `abreast` rows */
INLINE void block(const linear_map *p, const float *w, const float *totals, long output, long row, int abreast, long ahead) {
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
INLINE void block_of_bytes(const linear_map *p, const int8_t *w, const rounded *r, const float *totals, long output, long ahead) {
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
static void single(const linear_map *p, const float *totals, long output, long row) {
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
static void round_row(const linear_map *p, rounded *r) {
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

/* functions of their own: each then has the registers to itself */
#define ROWS_OF(N) \
    __attribute__((noinline)) \
    static void block_of_##N(const linear_map *p, const float *w, const float *totals, long output, long row, long ahead) { \
        block(p, w, totals, output, row, N, ahead); \
    }
ROWS_OF(1)
ROWS_OF(2)
#if ABREAST == 6
ROWS_OF(4)
ROWS_OF(6)
#elif ABREAST == 3
ROWS_OF(3)
#endif

/* all rows meet a few outputs, as many abreast as the registers hold */
INLINE void every_row(const linear_map *p, const float *w, const float *totals, long output, long ahead) {
    for (long row = 0, left; (left = p->rows - row) > 0; ahead = 0) {        /* the weights are at hand after the first rows */
#if ABREAST == 6
        if (left >= 6 && left != 8) block_of_6(p, w, totals, output, row, ahead), row += 6;
        else if (left >= 4) block_of_4(p, w, totals, output, row, ahead), row += 4;
        else
#elif ABREAST == 3
        if (left >= 3 && left != 4) block_of_3(p, w, totals, output, row, ahead), row += 3;
        else
#endif
        if (left >= 2) block_of_2(p, w, totals, output, row, ahead), row += 2;
        else block_of_1(p, w, totals, output, row, ahead), row += 1;
    }
}

static void finished(const linear_map *p, long first, long last) {
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

/* floats that each thread needs beside the numbers themselves */
INLINE long scratch_of(const linear_map *p) { return p->small ? OUTPUTS * p->inputs + p->rows : 0; }

/* what one of some threads does of a linear map; `room` is its scratch */
static void multiply(const void *what, float *room, long thread, long threads) {
    const linear_map *p = what;
    const long blocks = p->outputs / OUTPUTS, inputs = p->inputs, size = OUTPUTS * inputs, next = size * (p->small ? 1 : 4);
    const long near = next > 16384 ? 16384 : next;                /* bytes ahead that are asked of memory */
    const long first = blocks * thread / threads * OUTPUTS;
    const long last = thread + 1 == threads ? p->outputs : blocks * (thread + 1) / threads * OUTPUTS;
    float *totals = room + size;
    rounded r = {(int16_t *)room, (int16_t *)room + size, 0};     /* one row needs less than four outputs of several */
    if (p->small && p->rows == 1) round_row(p, &r);               /* each thread for itself: quicker than waiting for another's */
    for (long row = 0; p->small && row < p->rows; row++) totals[row] = sum_of(p->x + row * inputs, inputs);
    long output = first;
    for (; output + OUTPUTS <= last; output += OUTPUTS) {
        const int8_t *packed = (const int8_t *)p->weight + output * inputs;
        if (!p->small) every_row(p, (const float *)p->weight + output * inputs, totals, output, near);
        else if (p->rows == 1) block_of_bytes(p, packed, &r, totals, output, near);
        else every_row(p, unpacked(packed, room, size, near), totals, output, 0);
    }
    for (; output < last; output++)
        for (long row = 0; row < p->rows; row++) single(p, totals, output, row);
    if (p->activation != NONE) finished(p, first, last);
}
