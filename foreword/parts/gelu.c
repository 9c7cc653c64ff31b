/* GELU with tanh, forward and back, each in one pass: x P(x), where P(x) = (1 + tanh z) / 2 = 1 / (1 + e^-2z). */
#include "vectors.h"

#define PIECE 4096           /* numbers a thread takes at least: fewer are done before a second one has woken */
#define TWICE 1.5957691216f  /* 2 sqrt(2 / pi) */

INLINE vector share(vector x, vector square) {
    return inverse(1.f + exponential(at_most(-TWICE * x * (1.f + 0.044715f * square), 87.f)));
}

INLINE vector forth(vector x) { return x * share(x, x * x); }

INLINE vector back(vector x, vector upstream) {
    vector square = x * x, p = share(x, square);
    return upstream * (p + x * (p * (1.f - p) * TWICE * (1.f + 0.134145f * square)));
}

/* out = gelu(x), or, with `upstream`, what it passes back */
void gelu(const float *x, const float *upstream, float *out, long size, long threads) {
    long most = size / PIECE < threads ? size / PIECE : threads;
    if (most < 1) most = 1;
#pragma omp parallel for num_threads(most) schedule(static)
    for (long part = 0; part < most; part++) {
        long i = size * part / most, stop = size * (part + 1) / most;
        if (upstream)
            for (; i + LANES <= stop; i += LANES) *(vector *)(out + i) = back(load(x + i), load(upstream + i));
        else
            for (; i + LANES <= stop; i += LANES) *(vector *)(out + i) = forth(load(x + i));
        for (; i < stop; i++) {
            vector alone = {x[i]}, given = {upstream ? upstream[i] : 0};
            out[i] = upstream ? back(alone, given)[0] : forth(alone)[0];
        }
    }
}
