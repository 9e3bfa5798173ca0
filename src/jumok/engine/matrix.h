/* Linear layers for few rows: weights in panels of 64 outputs, as float32, bfloat16 or int8.
 *
 *     int8:     y = (q(x) W8) * scale_x * scale_w + b     q(x) = round(127 x / max |x|), row by row
 *     grouped:  y = scale_x * sum over groups g of (q(x_g) W8_g) * scale_g + b, 32 inputs with one scale;
 *               q(x) = round(32767 x / max |x|), whose upper and lower bytes are multiplied one after the other
 *
 * A row's result is the same bits whatever other rows are computed with it: its products are summed
 * over the inputs in one order, and its scale is its own.
 *
 * A panel is (inputs / GROUP, 64, GROUP): for each group of neighbouring inputs the 64 outputs, with
 * the group side by side. GROUP is 1 for float32, 2 for bfloat16 and 4 for int8.
 */
#pragma once

#include "../kernels/vectors.h"

#include "products.h"

#define PANEL 64
#define VECTORS (PANEL / LANES)
#define AHEAD 6144 /* bytes of a panel that are fetched before they are needed */

#define SHARING 32 /* inputs of a grouped output that have one scale */

enum { FLOAT32, BFLOAT16, INT8, GROUPED };

/* outputs is the true number; panels, scales and biases are filled up with zeros to a multiple of 64.
 * scale: (outputs); grouped (outputs / 64, inputs / 32, 64), and inputs are a multiple of 32.
 * correction: 128 times the sum of an output's int8 weights, because the rows are stored as q(x) + 128; grouped
 * float32, 32768 times the sum of its weights. */
typedef struct {
    int64_t outputs, inputs, kind;
    const void *panels;
    const float *bias, *scale;
    const void *correction;
} Linear;

/* Rows as a linear layer reads them; of float32 they are read where they are. */
typedef struct {
    const float *floats_;
    uint16_t *halves_;
    uint8_t *bytes_; /* grouped: of each row the upper bytes, then the lower */
    float *scale;
} Prepared;

static inline int64_t panelled(int64_t n) { return (n + PANEL - 1) / PANEL * PANEL; }

/* max |x| of one row */
static inline float largest_size(const float *x, int64_t inputs) {
    floats most = {};
    for (int64_t k = 0; k < inputs; k += LANES) { /* in this order a NaN is left behind */
        floats size = magnitude(load_f32(x + k));
        most = choose(most > size, most, size);
    }
    return max_of(most);
}

/* int8 of one row, plus 128 */
static inline float quantise(const float *x, uint8_t *q, int64_t inputs) {
    float peak = largest_size(x, inputs);
    float factor = peak > 0 ? 127.0f / peak : 0.0f;
    for (int64_t k = 0; k < inputs; k += LANES) {
        /* adding 1.5 * 2^23 rounds to the nearest integer, which is then in the lower bits */
        bytes packed = narrowed(((words)(load_f32(x + k) * factor + 12582912.0f) + 128u) & 255u);
        memcpy(q + k, &packed, sizeof packed);
    }
    return peak / 127.0f;
}

/* 16 bits of one row, plus 32768: the upper bytes, then the lower */
static inline float quantise_finely(const float *x, uint8_t *q, int64_t inputs) {
    float peak = largest_size(x, inputs);
    float factor = peak > 0 ? 32767.0f / peak : 0.0f;
    for (int64_t k = 0; k < inputs; k += LANES) {
        words both = (words)(load_f32(x + k) * factor + 12582912.0f) + 32768u;
        bytes upper = narrowed(both >> 8 & 255u), lower = narrowed(both & 255u);
        memcpy(q + k, &upper, sizeof upper);
        memcpy(q + inputs + k, &lower, sizeof lower);
    }
    return peak / 32767.0f;
}

static void prepare(const float *x, int64_t x_row, int64_t rows, int64_t inputs, int64_t kind, Prepared *to) {
    to->floats_ = x;
    for (int64_t row = 0; row < rows; row++, x += x_row) {
        if (kind == INT8) to->scale[row] = quantise(x, to->bytes_ + row * inputs, inputs);
        if (kind == GROUPED) to->scale[row] = quantise_finely(x, to->bytes_ + row * 2 * inputs, inputs);
        if (kind == BFLOAT16)
            for (int64_t k = 0; k < inputs; k += LANES)
                store_bf16(to->halves_ + row * inputs + k, load_f32(x + k));
    }
}

/* Outputs, or their positive part. */
static inline void store_outputs(float *y, floats out, int positive) {
    if (positive) out = (floats)((ints)out & ~(ints)(out < 0.0f)); /* a NaN stays one */
    store_f32(y, out);
}

/* One panel's outputs for `rows` rows, a constant wherever this is called. */
#define INLINE static inline __attribute__((always_inline))

INLINE void tile_int8(const Prepared *x, int64_t first, const Linear *layer, int64_t column, float *y,
                      int64_t y_row, int positive, const int rows) {
    int64_t inputs = layer->inputs;
    const int wide = WIDE(rows);
    for (int from = 0; from < VECTORS; from += wide) {
        const int8_t *panel = (const int8_t *)layer->panels + column * inputs + 4 * LANES * from;
        const uint8_t *read = x->bytes_ + first * inputs;
        Piece sum[ROWS][VECTORS];
        for (int r = 0; r < rows; r++)
            for (int p = 0; p < wide; p++) sum[r][p] = (Piece){};
        for (int64_t k = 0; k < inputs; k += 4, panel += 4 * PANEL) {
            for (int i = 0; i < 4 * LANES * wide; i += 64) __builtin_prefetch(panel + AHEAD + i);
#pragma GCC unroll 6 /* clang, too: otherwise it gives up where a product is many instructions */
            for (int r = 0; r < rows; r++) {
                uint32_t four;
                memcpy(&four, read + r * inputs + k, sizeof four);
                for (int p = 0; p < wide; p++) {
                    Piece weights;
                    memcpy(&weights, panel + 4 * LANES * p, sizeof weights);
                    sum[r][p] = add_products(sum[r][p], spread_four(four), weights);
                }
            }
        }
        for (int p = 0; p < wide; p++) {
            int64_t at = column + (from + p) * LANES;
            ints correction;
            floats scale = load_f32(layer->scale + at), bias = load_f32(layer->bias + at);
            memcpy(&correction, (const int32_t *)layer->correction + at, sizeof correction);
            for (int r = 0; r < rows; r++) {
                floats out = __builtin_convertvector((ints)sum[r][p] - correction, floats);
                store_outputs(y + r * y_row + (from + p) * LANES, out * (scale * x->scale[first + r]) + bias, positive);
            }
        }
    }
}

#define TILE_OF_FLOATS(name, TYPE, rows_of, GROUP, times)                                                              \
    INLINE void tile_##name(const Prepared *x, int64_t first, const Linear *layer, int64_t column, float *y,           \
                            int64_t y_row, int64_t x_row, int positive, const int rows) {                              \
        const int wide = WIDE(rows);                                                                                   \
        for (int from = 0; from < VECTORS; from += wide) {                                                             \
            const TYPE *panel = (const TYPE *)layer->panels + column * layer->inputs + GROUP * LANES * from;           \
            const TYPE *read = rows_of + first * x_row;                                                                \
            const float *bias = layer->bias + column + from * LANES;                                                   \
            floats sum[ROWS][VECTORS];                                                                                 \
            for (int r = 0; r < rows; r++)                                                                             \
                for (int p = 0; p < wide; p++) sum[r][p] = load_f32(bias + p * LANES);                                 \
            for (int64_t k = 0; k < layer->inputs; k += GROUP, panel += GROUP * PANEL) {                               \
                for (int i = 0; rows > 1 && i < 4 * LANES * wide; i += 64)                                             \
                    __builtin_prefetch((const char *)panel + AHEAD + i);                                               \
                for (int r = 0; r < rows; r++)                                                                         \
                    for (int p = 0; p < wide; p++)                                                                     \
                        sum[r][p] = times(sum[r][p], read + r * x_row + k, panel + GROUP * LANES * p);                 \
            }                                                                                                          \
            for (int r = 0; r < rows; r++)                                                                             \
                for (int p = 0; p < wide; p++)                                                                         \
                    store_outputs(y + r * y_row + (from + p) * LANES, sum[r][p], positive);                            \
        }                                                                                                              \
    }
TILE_OF_FLOATS(float32, float, x->floats_, 1, times_f32)
TILE_OF_FLOATS(bfloat16, uint16_t, x->halves_, 2, times_bf16)

#define NEAR 4 /* vectors of a panel whose sums of both bytes fit into the registers */

/* The weights of a group stay in the cache while all rows are multiplied with them. */
INLINE void tile_grouped(const Prepared *x, int64_t first, const Linear *layer, int64_t column, float *y,
                         int64_t y_row, int positive, const int rows) {
    int64_t inputs = layer->inputs;
    const int8_t *panel = (const int8_t *)layer->panels + column * inputs;
    const float *scale = layer->scale + column / SHARING * inputs;
    floats sum[ROWS][VECTORS] = {};
    for (int64_t group = 0; group < inputs; group += SHARING, panel += SHARING * PANEL, scale += PANEL) {
        for (int i = 0; i < SHARING * PANEL; i += 64) __builtin_prefetch(panel + AHEAD + i);
        for (int r = 0; r < rows; r++) {
            const uint8_t *read = x->bytes_ + (first + r) * 2 * inputs + group;
            for (int from = 0; from < VECTORS; from += NEAR) {
                Piece upper[NEAR] = {}, lower[NEAR] = {};
#pragma GCC unroll 8
                for (int k = 0; k < SHARING; k += 4) {
                    uint32_t high, low;
                    memcpy(&high, read + k, sizeof high);
                    memcpy(&low, read + inputs + k, sizeof low);
                    for (int p = 0; p < NEAR; p++) {
                        Piece weights;
                        memcpy(&weights, panel + k * PANEL + 4 * LANES * (from + p), sizeof weights);
                        upper[p] = add_products(upper[p], spread_four(high), weights);
                        lower[p] = add_products(lower[p], spread_four(low), weights);
                    }
                }
                for (int p = 0; p < NEAR; p++) {
                    ints both = ((ints)upper[p] << 8) + (ints)lower[p];
                    sum[r][from + p] += __builtin_convertvector(both, floats) * load_f32(scale + (from + p) * LANES);
                }
            }
        }
    }
    for (int p = 0; p < VECTORS; p++) {
        int64_t at = column + p * LANES;
        floats correction = load_f32((const float *)layer->correction + at), bias = load_f32(layer->bias + at);
        for (int r = 0; r < rows; r++)
            store_outputs(y + r * y_row + p * LANES, (sum[r][p] - correction) * x->scale[first + r] + bias, positive);
    }
}

INLINE void tile(const Prepared *x, int64_t x_row, int64_t first, const Linear *layer, int64_t column, float *y,
                 int64_t y_row, int positive, const int rows) {
    if (layer->kind == INT8)
        tile_int8(x, first, layer, column, y, y_row, positive, rows);
    else if (layer->kind == BFLOAT16)
        tile_bfloat16(x, first, layer, column, y, y_row, layer->inputs, positive, rows);
    else if (layer->kind == GROUPED)
        tile_grouped(x, first, layer, column, y, y_row, positive, rows);
    else
        tile_float32(x, first, layer, column, y, y_row, x_row, positive, rows);
}

/* The outputs from `column` to `column` + 64 of all rows; x_row: how far apart float32 rows are. */
static void panel_of(const Prepared *x, int64_t x_row, int64_t rows, const Linear *layer, int64_t column, float *y,
                     int64_t y_row, int positive) {
    int64_t row = 0;
    for (; row + ROWS <= rows; row += ROWS) tile(x, x_row, row, layer, column, y + row * y_row, y_row, positive, ROWS);
#define REST(n) case n: tile(x, x_row, row, layer, column, y + row * y_row, y_row, positive, n); break;
#if ROWS > 3
    switch (rows - row) { REST(1) REST(2) REST(3) REST(4) REST(5) }
#else
    switch (rows - row) { REST(1) REST(2) }
#endif
#undef REST
}

/* y = x W^T + b of prepared rows, or its positive part; rows of y are panelled(outputs) wide. */
static void linear(const Prepared *x, int64_t x_row, int64_t rows, const Linear *layer, float *y, int positive) {
    int64_t width = panelled(layer->outputs);
    for (int64_t column = 0; column < width; column += PANEL)
        panel_of(x, x_row, rows, layer, column, y + column, width, positive);
}
