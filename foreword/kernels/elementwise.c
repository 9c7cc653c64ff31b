/* What torch does in several passes over memory, in one: forward, and, given `upstream`, what is passed back. */
#include "dropout.h"

#define TWICE 1.5957691216f  /* 2 sqrt(2 / pi) */

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

/* out = s x with s = 1 / sqrt(mean of x x + epsilon); back: s g - x s^3 (mean of g x) */
void rms_norm(const float *x, const float *upstream, float *out, long rows, long width, float epsilon, long threads) {
    long most = workers(rows * width, threads);
#pragma omp parallel for num_threads(most) schedule(static)
    for (long row = 0; row < rows; row++) {
        const float *from = x + row * width, *given = upstream + row * width;
        float *to = out + row * width;
        float s = 1.f / sqrtf(dot(from, from, width) / width + epsilon);
        float less = upstream ? s * s * s * dot(given, from, width) / width : 0;
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
   `sign` is 1, or -1 to rotate back. */
void rotary(const float *x, const float *cosine, const float *sine, float *out, long batch, long places, long heads, long size,
          long by_batch, long by_place, long by_head, float sign, long threads) {
    long half = size / 2, most = workers(batch * places * heads * size, threads);
#pragma omp parallel for num_threads(most) schedule(static)
    for (long row = 0; row < batch * places; row++) {
        long place = row % places;
        const float *from = x + row / places * by_batch + place * by_place, *c = cosine + place * half, *s = sine + place * half;
        float *to = out + row * heads * size;
        for (long head = 0; head < heads; head++, from += by_head, to += size) {
            long i = 0;
            for (; i + LANES <= half; i += LANES) {
                vector a = load(from + i), b = load(from + half + i), up = load(c + i), over = sign * load(s + i);
                *(vector *)(to + i) = a * up + b * over;
                *(vector *)(to + half + i) = b * up - a * over;
            }
            for (; i < half; i++) {
                float a = from[i], b = from[half + i], over = sign * s[i];
                to[i] = a * c[i] + b * over;
                to[half + i] = b * c[i] - a * over;
            }
        }
    }
}
