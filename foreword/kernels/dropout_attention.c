/* Attention with dropout: scores become weights of which some are dropped, and what is passed back to them, in one pass each. */
#include "dropout.h"

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
void dropout_softmax(float *scores, float *sums, const uint8_t *seen, long rows, long heads, long queries, long keys,
                     long by_batch, long by_query, float scale, int64_t seed, long first, float keep, long threads) {
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
void dropout_softmax_back(float *scores, float *upstream, const float *sums, const float *along, const uint8_t *seen,
                          long rows, long heads, long queries, long keys, long by_batch, long by_query, float scale,
                          int64_t seed, long first, float keep, long threads) {
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
