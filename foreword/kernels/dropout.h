/* Chance that is a function of a seed and a place: what is dropped is known again on the way back, and no mask is kept.
 * elementwise.py has the same in numpy: both drop the same numbers. */
#include "vectors.h"

#define PIECE 4096           /* numbers a thread takes at least: fewer are done before a second one has woken */

INLINE long workers(long size, long threads) {
    long most = size / PIECE < threads ? size / PIECE : threads;
    return most < 1 ? 1 : most;
}

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
