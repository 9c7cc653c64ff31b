/* GloVe's inner loop (Pennington et al. 2014): one entry of the table of co-occurrences after the other, AdaGrad on the two
 * vectors and biases that it is about. Rows are padded to whole vectors: zeros, whose squares are ones. glove.py has it in numpy.
 */
#include "vectors.h"

typedef struct {
    float *own, *outputs, *own_squares, *output_squares;        /* [words, width] */
    float *biases, *output_biases, *bias_squares, *output_bias_squares;         /* [words] */
    const int32_t *words, *others;
    const float *logs, *weights;        /* of each count: its logarithm, and how much it matters */
    double *cost;                       /* [threads] */
    int64_t width, entries, threads;
    float rate;
} pass;

INLINE vector inverse_root(vector x) {
#if LANES == 16
    vector guess = (vector)_mm512_rsqrt14_ps((__m512)x);        /* 14 bits, and one step of Newton's */
    return guess * (1.5f - .5f * x * guess * guess);
#elif LANES == 8
    return 1.f / (vector)_mm256_sqrt_ps((__m256)x);
#else
    vector found;
    for (int i = 0; i < LANES; i++) found[i] = 1.f / sqrtf(x[i]);
    return found;
#endif
}

INLINE void bias(float *value, float *square, float step) {
    *value -= step / sqrtf(*square);
    *square += step * step;
}

static void stretch(const pass *p, int64_t from, int64_t to, double *cost) {
    for (int64_t n = from; n < to; n++) {
        const int64_t i = p->words[n], j = p->others[n], ahead = n + 4 < to ? n + 4 : n;
        for (int64_t k = 0; k < p->width; k += 16) {
            __builtin_prefetch(p->own + p->words[ahead] * p->width + k, 1);
            __builtin_prefetch(p->own_squares + p->words[ahead] * p->width + k, 1);
            __builtin_prefetch(p->outputs + p->others[ahead] * p->width + k, 1);
            __builtin_prefetch(p->output_squares + p->others[ahead] * p->width + k, 1);
        }
        float *own = p->own + i * p->width, *output = p->outputs + j * p->width;
        float *own_square = p->own_squares + i * p->width, *output_square = p->output_squares + j * p->width;
        const float apart = dot(own, output, p->width) + p->biases[i] + p->output_biases[j] - p->logs[n];
        const float weighed = p->weights[n] * apart, step = p->rate * weighed;
        *cost += .5 * weighed * apart;
        for (int64_t k = 0; k < p->width; k += LANES) {
            const vector here = load(own + k), there = load(output + k), a = step * there, b = step * here;
            const vector square = load(own_square + k), other = load(output_square + k);
            *(vector *)(own + k) = here - a * inverse_root(square);
            *(vector *)(output + k) = there - b * inverse_root(other);
            *(vector *)(own_square + k) = square + a * a;
            *(vector *)(output_square + k) = other + b * b;
        }
        bias(p->biases + i, p->bias_squares + i, step);
        bias(p->output_biases + j, p->output_bias_squares + j, step);
    }
}

void fit(const pass *p) {
#pragma omp parallel for num_threads(p->threads) schedule(static)
    for (int64_t n = 0; n < p->threads; n++)
        stretch(p, p->entries * n / p->threads, p->entries * (n + 1) / p->threads, p->cost + n);
}
