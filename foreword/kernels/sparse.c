/* A sparse matrix, row by row, times a dense one. sparse.py has the same in numpy. */
#include "vectors.h"

typedef struct {
    const int64_t *starts;      /* [rows + 1] */
    const int32_t *columns;
    const float *values;
    const float *dense;         /* [columns, width] */
    float *found;               /* [rows, width], zeros */
    int64_t rows, width, threads;
} product;

void multiply(const product *p) {
#pragma omp parallel for num_threads(p->threads) schedule(dynamic, 256)
    for (int64_t row = 0; row < p->rows; row++) {
        float *to = p->found + row * p->width;
        for (int64_t n = p->starts[row]; n < p->starts[row + 1]; n++) {
            const float *from = p->dense + p->columns[n] * p->width, value = p->values[n];
            int64_t k = 0;
            for (; k + LANES <= p->width; k += LANES) *(vector *)(to + k) = load(to + k) + value * load(from + k);
            for (; k < p->width; k++) to[k] += value * from[k];
        }
    }
}
