/* What torch does in several passes over memory, in one: forward, and, given `upstream`, what is passed back. */
#include "vectors.h"

#define PIECE 4096           /* numbers a thread takes at least: fewer are done before a second one has woken */
#define TWICE 1.5957691216f  /* 2 sqrt(2 / pi) */

INLINE long workers(long size, long threads) {
    long most = size / PIECE < threads ? size / PIECE : threads;
    return most < 1 ? 1 : most;
}

/* GELU with tanh: x P(x), where P(x) = (1 + tanh z) / 2 = 1 / (1 + e^-2z) */
INLINE vector share(vector x, vector square) {
    return inverse(1.f + exponential(at_most(-TWICE * x * (1.f + 0.044715f * square), 87.f)));
}

INLINE vector gelu_forth(vector x) { return x * share(x, x * x); }

INLINE vector gelu_back(vector x, vector upstream) {
    vector square = x * x, p = share(x, square);
    return upstream * (p + x * (p * (1.f - p) * TWICE * (1.f + 0.134145f * square)));
}

INLINE vector squared_forth(vector x) { vector positive = at_least(x, 0.f); return positive * positive; }

INLINE vector squared_back(vector x, vector upstream) { return 2.f * at_least(x, 0.f) * upstream; }

#define EACH(NAME, FORTH, BACK) \
    void NAME(const float *x, const float *upstream, float *out, long size, long threads) { \
        long most = workers(size, threads); \
        _Pragma("omp parallel for num_threads(most) schedule(static)") \
        for (long part = 0; part < most; part++) { \
            long i = size * part / most, stop = size * (part + 1) / most; \
            if (upstream) \
                for (; i + LANES <= stop; i += LANES) *(vector *)(out + i) = BACK(load(x + i), load(upstream + i)); \
            else \
                for (; i + LANES <= stop; i += LANES) *(vector *)(out + i) = FORTH(load(x + i)); \
            for (; i < stop; i++) { \
                vector alone = {x[i]}, given = {upstream ? upstream[i] : 0}; \
                out[i] = upstream ? BACK(alone, given)[0] : FORTH(alone)[0]; \
            } \
        } \
    }

EACH(gelu, gelu_forth, gelu_back)
EACH(relu_squared, squared_forth, squared_back)

/* 32 even bits for each place: Weyl's sequence through MurmurHash3's last steps (Appleby), the seed's halves before and between */
INLINE bits chance(bits place, uint64_t seed) {
    bits x = place * 0x9e3779b9u + (uint32_t)seed;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = ((x ^ (x >> 13)) + (uint32_t)(seed >> 32)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

INLINE bits counted(void) {
    bits lanes;
    for (int i = 0; i < LANES; i++) lanes[i] = i;
    return lanes;
}

/* 1 / keep with probability `keep`, else 0, for LANES places from `place` on */
INLINE vector kept(uint32_t place, uint64_t seed, float keep) {
    const vector none = {0};
    const whole least = (whole){0} + (int32_t)fmin(keep * 2147483648.0, 2147483647.0);
    return either((whole)(chance(counted() + place, seed) >> 1) < least, none + 1.f / keep, none);
}

/* x / keep with probability `keep`, else 0; what is passed back is the same of the upstream. No mask is kept: the seed is. */
void dropout(const float *x, float *out, long size, int64_t seed, float keep, long threads) {
    long most = workers(size, threads);
#pragma omp parallel for num_threads(most) schedule(static)
    for (long part = 0; part < most; part++) {
        long i = size * part / most, stop = size * (part + 1) / most;
        for (; i + LANES <= stop; i += LANES) *(vector *)(out + i) = load(x + i) * kept(i, seed, keep);
        for (; i < stop; i++) out[i] = x[i] * kept(i, seed, keep)[0];
    }
}

/* up to LANES numbers, `fill` after them; and back */
INLINE vector first_of(const float *from, long count, float fill) {
    vector x = (vector){0} + fill;
    if (count >= LANES) return load(from);
    memcpy(&x, from, 4 * count);
    return x;
}

INLINE void put(float *to, vector x, long count) {
    if (count >= LANES) *(vector *)to = x;
    else memcpy(to, &x, 4 * count);
}

/* where a query may look: all of the row, or what its mask says */
INLINE whole visible(const uint8_t *seen, long i, long keys) {
    whole all = (whole)(counted() + (uint32_t)i) < (int32_t)keys;
    if (!seen) return all;
    bytes some = {0};
    memcpy(&some, seen + i, keys - i < LANES ? keys - i : LANES);
    return all & (__builtin_convertvector(some, whole) != 0);
}

/* Scores of queries and keys [batch, heads, queries, keys] become the weights of the keys, some of them dropped: softmax of
   `scale` x scores over what is seen [batch or 1, queries or 1, keys], times 1 / keep or 0. `sums` keeps the logarithm of what
   each row was divided by. Chance is that of the places from `first` on. Rows that see nothing have no weights. */
void weigh(float *scores, float *sums, const uint8_t *seen, long rows, long heads, long queries, long keys, long by_batch,
           long by_query, float scale, int64_t seed, long first, float keep, long threads) {
    const vector none = {0};
    long most = workers(rows * keys, threads);
#pragma omp parallel for num_threads(most) schedule(static)
    for (long row = 0; row < rows; row++) {
        float *x = scores + row * keys;
        const uint8_t *may = seen ? seen + row / queries / heads * by_batch + row % queries * by_query : 0;
        vector tops = none - INFINITY, totals = none;
        for (long i = 0; i < keys; i += LANES) {
            vector here = either(visible(may, i, keys), scale * first_of(x + i, keys - i, 0), none - INFINITY);
            tops = either(here > tops, here, tops);
        }
        float top = -INFINITY, total;
        for (int i = 0; i < LANES; i++) top = tops[i] > top ? tops[i] : top;
        for (long i = 0; i < keys; i += LANES) {
            vector here = scale * first_of(x + i, keys - i, 0) - top;
            here = either(visible(may, i, keys), exponential(at_most(here, 0)), none);
            totals += here;
            put(x + i, here, keys - i);
        }
        total = summed(totals);
        sums[row] = total > 0 ? top + logf(total) : 0;
        float over = total > 0 ? 1.f / total : 0;
        for (long i = 0; i < keys; i += LANES)
            put(x + i, over * first_of(x + i, keys - i, 0) * kept(first + row * keys + i, seed, keep), keys - i);
    }
}

/* The way back: scores become the same weights again, and `upstream`, what is passed back to the weights, becomes what is passed
   back to the scores, where `along` is the sum of upstream x weights of each row. */
void weigh_back(float *scores, float *upstream, const float *sums, const float *along, const uint8_t *seen, long rows, long heads,
                long queries, long keys, long by_batch, long by_query, float scale, int64_t seed, long first, float keep,
                long threads) {
    const vector none = {0};
    long most = workers(rows * keys, threads);
#pragma omp parallel for num_threads(most) schedule(static)
    for (long row = 0; row < rows; row++) {
        float *x = scores + row * keys, *back = upstream + row * keys;
        const uint8_t *may = seen ? seen + row / queries / heads * by_batch + row % queries * by_query : 0;
        for (long i = 0; i < keys; i += LANES) {
            vector share = scale * first_of(x + i, keys - i, 0) - sums[row];
            share = either(visible(may, i, keys), exponential(at_most(share, 0)), none);
            vector by = kept(first + row * keys + i, seed, keep);
            put(back + i, share * (first_of(back + i, keys - i, 0) * by - along[row]) * scale, keys - i);
            put(x + i, share * by, keys - i);
        }
    }
}

INLINE float product(const float *a, const float *b, long width) {
    const vector none = {0};
    vector sums = none;
    long i = 0;
    for (; i + LANES <= width; i += LANES) sums += load(a + i) * load(b + i);
    float total = summed(sums);
    for (; i < width; i++) total += a[i] * b[i];
    return total;
}

/* out = s x with s = 1 / sqrt(mean of x x + epsilon); back: s g - x s^3 (mean of g x) */
void rms_norm(const float *x, const float *upstream, float *out, long rows, long width, float epsilon, long threads) {
    long most = workers(rows * width, threads);
#pragma omp parallel for num_threads(most) schedule(static)
    for (long row = 0; row < rows; row++) {
        const float *from = x + row * width, *given = upstream + row * width;
        float *to = out + row * width;
        float s = 1.f / sqrtf(product(from, from, width) / width + epsilon);
        float less = upstream ? s * s * s * product(given, from, width) / width : 0;
        long i = 0;
        if (upstream) {
            for (; i + LANES <= width; i += LANES) *(vector *)(to + i) = s * load(given + i) - less * load(from + i);
            for (; i < width; i++) to[i] = s * given[i] - less * from[i];
        } else {
            for (; i + LANES <= width; i += LANES) *(vector *)(to + i) = s * load(from + i);
            for (; i < width; i++) to[i] = s * from[i];
        }
    }
}

/* x [batch, places, heads, size], each with a stride of its own but the last; cosine, sine [places, size / 2]; out has no gaps.
   `way` is 1, or -1 to turn back. */
void rotary(const float *x, const float *cosine, const float *sine, float *out, long batch, long places, long heads, long size,
          long by_batch, long by_place, long by_head, float way, long threads) {
    long half = size / 2, most = workers(batch * places * heads * size, threads);
#pragma omp parallel for num_threads(most) schedule(static)
    for (long row = 0; row < batch * places; row++) {
        long place = row % places;
        const float *from = x + row / places * by_batch + place * by_place, *c = cosine + place * half, *s = sine + place * half;
        float *to = out + row * heads * size;
        for (long head = 0; head < heads; head++, from += by_head, to += size) {
            long i = 0;
            for (; i + LANES <= half; i += LANES) {
                vector a = load(from + i), b = load(from + half + i), up = load(c + i), over = way * load(s + i);
                *(vector *)(to + i) = a * up + b * over;
                *(vector *)(to + half + i) = b * up - a * over;
            }
            for (; i < half; i++) {
                float a = from[i], b = from[half + i], over = way * s[i];
                to[i] = a * c[i] + b * over;
                to[half + i] = b * c[i] - a * over;
            }
        }
    }
}
