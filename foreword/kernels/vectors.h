/* Vectors of GCC and clang: the same lines are AVX-512, AVX2 or whatever a processor has; -DPORTABLE uses the narrowest. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__) && !defined(PORTABLE)
#include <immintrin.h>
#define LANES 16
#elif defined(__AVX2__) && defined(__FMA__) && !defined(PORTABLE)
#include <immintrin.h>
#define LANES 8
#else
#define LANES 4
#endif

#define INLINE static inline __attribute__((always_inline))

typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t bits __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int8_t bytes __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef int32_t whole __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

INLINE vector load(const float *from) { return *(const vector *)from; }

INLINE float summed(vector v) {
#if LANES == 16
    return _mm512_reduce_add_ps((__m512)v);
#else
    float total = 0;
    for (int i = 0; i < LANES; i++) total += v[i];
    return total;
#endif
}

INLINE vector either(whole condition, vector yes, vector no) {
    return (vector)((condition & (whole)yes) | (~condition & (whole)no));
}

INLINE vector at_most(vector x, float most) {
#if LANES == 16
    return (vector)_mm512_min_ps((__m512)x, _mm512_set1_ps(most));
#else
    const vector none = {0};
    return either(x > most, none + most, x);
#endif
}

INLINE vector at_least(vector x, float least) {
#if LANES == 16
    return (vector)_mm512_max_ps((__m512)x, _mm512_set1_ps(least));
#else
    const vector none = {0};
    return either(x < least, none + least, x);
#endif
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

/* e to the x for x up to 88, to the last bit or two of a float (Cephes's polynomial) */
INLINE vector exponential(vector x) {
    const vector none = {0};
    x = at_least(x, -87.f);
#if LANES == 16
    vector doublings = (vector)_mm512_roundscale_ps((__m512)(x * 1.44269504f), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    vector scaled = x * 1.44269504f;
    whole n = __builtin_convertvector(scaled + either(scaled < 0, none - .5f, none + .5f), whole);
    vector doublings = __builtin_convertvector(n, vector);
#endif
    vector r = x - doublings * 0.693359375f + doublings * 2.12194440e-4f;
    vector p = none + 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.f;
#if LANES == 16
    return (vector)_mm512_scalef_ps((__m512)p, (__m512)doublings);
#else
    return p * (vector)((n + 127) << 23);
#endif
}

/* 1 / x for x from 1 to 1e38: a guess of 14 bits and one step of Newton's, which a division would wait longer for */
INLINE vector inverse(vector x) {
#if LANES == 16
    vector guess = (vector)_mm512_rcp14_ps((__m512)x);
    return guess + guess * (1.f - x * guess);
#else
    return 1.f / x;
#endif
}
