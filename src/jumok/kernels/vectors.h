/* What the kernels are made of: vectors as wide as a register, float32 and bfloat16 in memory, exp, dropout
 * masks, and products of blocks that stay in the cache.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define AVX512
#include <immintrin.h>
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>
#endif

#ifdef _WIN32 /* it has no aligned_alloc, and frees what is aligned with a function of its own */
#include <malloc.h>
static inline void *zeroed(size_t size) {
    void *found = _aligned_malloc(size, 64);
    return found ? memset(found, 0, size) : NULL;
}
#define aligned_alloc(alignment, size) _aligned_malloc(size, alignment)
#define malloc(size) _aligned_malloc(size, 64)
#define calloc(count, size) zeroed((size_t)(count) * (size))
#define free _aligned_free
#endif

/* All widths are multiples of BLOCK, and so are the ranges of masks. A vector has LANES elements: what one
 * register holds, because gcc keeps wider ones in memory, at a tenth of the speed. */
#define BLOCK 16
#if defined(AVX512)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef uint8_t bytes __attribute__((vector_size(LANES)));

/* Rows of a product that are summed up at once: AVX-512 has 32 registers. */
#define TALL (LANES == 16 ? 8 : 4)

#if LANES == 16
static const words COUNT = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif LANES == 8
static const words COUNT = {0, 1, 2, 3, 4, 5, 6, 7};
#else
static const words COUNT = {0, 1, 2, 3};
#endif

static inline floats spread(float x) { return (floats){} + x; }
static inline floats choose(ints where, floats yes, floats no) {
    return (floats)(((ints)yes & where) | ((ints)no & ~where));
}
/* b where either is NaN */
static inline floats larger(floats a, floats b) {
#ifdef AVX512 /* compilers do not find the instruction, and make three of it */
    return (floats)_mm512_max_ps((__m512)a, (__m512)b);
#else
    return choose(a > b, a, b);
#endif
}
static inline floats magnitude(floats x) { return (floats)((words)x & 0x7FFFFFFFu); }
static inline int any_of(ints where) {
#ifdef AVX512
    return _mm512_movepi32_mask((__m512i)where) != 0;
#else
    uint64_t v[LANES / 2], some = 0;
    memcpy(v, &where, sizeof v);
    for (int i = 0; i < LANES / 2; i++) some |= v[i];
    return some != 0;
#endif
}

static inline float sum_of(floats x) {
    float total = 0;
    for (int i = 0; i < LANES; i++) total += x[i];
    return total;
}
static inline float max_of(floats x) {
#ifdef AVX512 /* of two the second one where either is NaN: a NaN that comes first stays one, as below */
    __m256 eight = _mm256_max_ps(_mm512_extractf32x8_ps((__m512)x, 1), _mm512_castps512_ps256((__m512)x));
    __m128 four = _mm_max_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight));
    four = _mm_max_ps(_mm_movehl_ps(four, four), four);
    return _mm_cvtss_f32(_mm_max_ss(_mm_movehdup_ps(four), four));
#else
    float most = x[0];
    for (int i = 1; i < LANES; i++) most = x[i] > most ? x[i] : most;
    return most;
#endif
}
/* The sum by halves: neighbours at a distance of half of the lanes, of a quarter, ... */
static inline float total_of(floats x) {
#ifdef AVX512
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256((__m512)x), _mm512_extractf32x8_ps((__m512)x, 1));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
#else
    float v[LANES];
    memcpy(v, &x, sizeof v);
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) v[i] += v[i + half];
    return v[0];
#endif
}

static inline floats load_f32(const float *p) {
    floats x;
    memcpy(&x, p, sizeof x);
    return x;
}
static inline void store_f32(float *p, floats x) { memcpy(p, &x, sizeof x); }

/* bfloat16 is the upper half of a float32; rounding is to nearest, ties to even, as torch does */
static inline floats load_bf16(const uint16_t *p) {
    halves h;
    memcpy(&h, p, sizeof h);
    return (floats)(__builtin_convertvector(h, words) << 16);
}
static inline void store_bf16(uint16_t *p, floats x) {
    words bits = (words)x;
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    halves h = __builtin_convertvector(bits, halves);
    memcpy(p, &h, sizeof h);
}
static inline float one_f32(const float *p) { return *p; }
static inline float one_bf16(const uint16_t *p) {
    uint32_t bits = (uint32_t)*p << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* sum + x panel; of bfloat16 a panel holds two neighbours of each element, side by side */
static inline floats times_f32(floats sum, const float *x, const float *panel) {
    return sum + *x * load_f32(panel);
}
static inline floats times_bf16(floats sum, const uint16_t *x, const uint16_t *panel) {
    uint32_t pair;
    words both;
    memcpy(&pair, x, sizeof pair);
    memcpy(&both, panel, sizeof both);
#if defined(AVX512) && defined(__AVX512BF16__) /* twice as fast; the same products, their sum is rounded once less */
    return (floats)_mm512_dpbf16_ps((__m512)sum, (__m512bh)((words){} + pair), (__m512bh)both);
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    return (floats)vbfdotq_f32((float32x4_t)sum, (bfloat16x8_t)((words){} + pair), (bfloat16x8_t)both);
#else
    sum += (floats)((words){} + (pair << 16)) * (floats)(both << 16);
    return sum + (floats)((words){} + (pair & 0xFFFF0000u)) * (floats)(both & 0xFFFF0000u);
#endif
}

/* exp(x) = 2^n exp(r) with x = n ln 2 + r, |r| <= ln 2 / 2; relative error below 3e-7 */
static inline floats exponential(floats x) {
    x = larger(spread(-87.0f), x); /* in this order a NaN stays one */
    floats shifted = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds to the nearest integer */
    floats n = shifted - 12582912.0f;
    floats r = x - n * 0.693359375f + n * 2.12194440e-4f;
    floats p = spread(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return (floats)((ints)p + (__builtin_convertvector(n, ints) << 23));
}

static inline floats sigmoid(floats x) {
    x = choose(x < -80.0f, spread(-80.0f), choose(x > 80.0f, spread(80.0f), x)); /* a NaN stays one */
    return 1.0f / (1.0f + exponential(-x));
}
static inline floats hyperbolic(floats x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; } /* tanh */

/* The same masks as Mask.keep in noise.py: 1 / (1 - p) where an element is kept, 0 elsewhere. */
typedef struct { uint32_t threshold, seed; float scale; } Drop;
static inline floats kept(Drop drop, uint32_t index) {
    words n = (COUNT + index) * 0x9E3779B9u + drop.seed;
    n = (n ^ (n >> 16)) * 0x7FEB352Du;
    n = (n ^ (n >> 15)) * 0x846CA68Bu;
    n = n ^ (n >> 16);
    return choose((ints)(n >= drop.threshold), spread(drop.scale), spread(0.0f));
}
static inline Drop drop_of(int64_t threshold, int64_t seed) {
    Drop drop = {(uint32_t)threshold, (uint32_t)seed, (float)(1.0 / (1.0 - threshold / 4294967296.0))};
    return drop;
}

/* `tall` rows of C = A B, and one or two vectors of its columns: all sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_block(const float *x, int64_t a_row, int64_t a_column,
                                                                 const float *y, int64_t b_row, float *c,
                                                                 int64_t c_row, int64_t inner, const int tall,
                                                                 const int wide) {
    floats left[TALL] = {}, right[TALL] = {};
    for (int64_t k = 0; k < inner; k++, x += a_column, y += b_row) {
        floats first = load_f32(y), second = wide ? load_f32(y + LANES) : first;
        for (int r = 0; r < tall; r++) {
            floats factor = spread(x[r * a_row]);
            left[r] += factor * first;
            if (wide) right[r] += factor * second;
        }
    }
    for (int r = 0; r < tall; r++) {
        store_f32(c + r * c_row, left[r]);
        if (wide) store_f32(c + r * c_row + LANES, right[r]);
    }
}

/* C = A B for small float32 blocks that stay in the cache: A (rows x inner), B (inner x columns).
 * a_row and a_column: how far apart A's rows and columns are, one of them 1: A may lie transposed.
 * columns is a multiple of BLOCK; rows are gone through by TALL and by 4, and the caller has room for that. */
static void multiply(const float *a, int64_t a_row, int64_t a_column, const float *b, int64_t b_row, float *c,
                     int64_t c_row, int64_t rows, int64_t inner, int64_t columns) {
    for (int64_t column = 0; column < columns; column += 2 * LANES) {
        int wide = 2 * LANES <= BLOCK || column + LANES < columns;
        for (int64_t row = 0, tall; row < rows; row += tall) {
            tall = rows - row > 4 ? TALL : 4;
            const float *x = a + row * a_row, *y = b + column;
            float *z = c + row * c_row + column;
            if (wide && tall == TALL) multiply_block(x, a_row, a_column, y, b_row, z, c_row, inner, TALL, 1);
            else if (wide) multiply_block(x, a_row, a_column, y, b_row, z, c_row, inner, 4, 1);
            else if (tall == TALL) multiply_block(x, a_row, a_column, y, b_row, z, c_row, inner, TALL, 0);
            else multiply_block(x, a_row, a_column, y, b_row, z, c_row, inner, 4, 0);
        }
    }
}

/* Transposes by blocks of LANES x LANES: each round exchanges what lies across the diagonal at a distance
 * of 8, 4, 2 and 1. rows and columns are multiples of BLOCK. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(a, b, ...) __builtin_shuffle(a, b, (ints){__VA_ARGS__})
#endif
#if LANES == 16
#define UPPER_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define LOWER_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define UPPER_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define LOWER_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define UPPER_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define LOWER_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define UPPER_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define LOWER_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define NEIGHBOURS 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#define ROUNDS(round) round(8) round(4) round(2) round(1)
#elif LANES == 8
#define UPPER_4 0, 1, 2, 3, 8, 9, 10, 11
#define LOWER_4 4, 5, 6, 7, 12, 13, 14, 15
#define UPPER_2 0, 1, 8, 9, 4, 5, 12, 13
#define LOWER_2 2, 3, 10, 11, 6, 7, 14, 15
#define UPPER_1 0, 8, 2, 10, 4, 12, 6, 14
#define LOWER_1 1, 9, 3, 11, 5, 13, 7, 15
#define NEIGHBOURS 1, 0, 3, 2, 5, 4, 7, 6
#define ROUNDS(round) round(4) round(2) round(1)
#else
#define UPPER_2 0, 1, 4, 5
#define LOWER_2 2, 3, 6, 7
#define UPPER_1 0, 4, 2, 6
#define LOWER_1 1, 5, 3, 7
#define NEIGHBOURS 1, 0, 3, 2
#define ROUNDS(round) round(2) round(1)
#endif
#define EXCHANGE(distance)                                                       \
    for (int i = 0; i < LANES; i++)                                              \
        if (!(i & distance)) {                                                   \
            floats a = block[i], b = block[i + distance];                        \
            block[i] = PICK(a, b, UPPER_##distance);                             \
            block[i + distance] = PICK(a, b, LOWER_##distance);                  \
        }

static void transpose(const float *from, int64_t from_row, float *to, int64_t to_row, int64_t rows,
                      int64_t columns) {
    for (int64_t row = 0; row < rows; row += LANES)
        for (int64_t column = 0; column < columns; column += LANES) {
            floats block[LANES];
            for (int i = 0; i < LANES; i++) block[i] = load_f32(from + (row + i) * from_row + column);
            ROUNDS(EXCHANGE)
            for (int i = 0; i < LANES; i++) store_f32(to + (column + i) * to_row + row, block[i]);
        }
}

static inline int64_t padded(int64_t n) { return (n + BLOCK - 1) / BLOCK * BLOCK; }

/* Attention's tensors are (batch, heads, positions, dim) with any strides but the last, which is 1. */
typedef struct { int64_t batch, heads, queries, keys, dim, value_dim; } Sizes;
typedef struct { int64_t batch, head, position; } Strides;
typedef struct { int32_t first, end; } Reach; /* keys, both ends multiples of BLOCK */

/* A softmax that has not been divided yet: the sum of its powers, the logarithm of its divisor, and
 * the sum of its logits. */
typedef struct { float total; double log_total; float sum; } Softmax;
