/* The hot loops of a training step on one core, over float32 or bfloat16 tensors.
 *
 * Every function has a readable twin in torch beside its wrapper (attention.py, heads.py, residual.py,
 * cross_entropy.py, activation.py, recurrent.py, noise.py), and a test that they agree. Arithmetic
 * is float32 whatever the tensors hold. Vectors are the compiler's own (gcc and clang): no instruction
 * of one machine stands in here, but for bfloat16 products where the processor has them. There
 * are no threads: callers run several training steps side by side.
 *
 * kernels.c includes itself twice, once for each element type: functions end in _f32 or _bf16.
 */
#ifndef TYPE

#include "vectors.h"
#include "flow.h"

#define NAME_(name, type) name##_##type
#define NAME(name, type) NAME_(name, type)
#define F(name) NAME(name, SUFFIX)

#define TYPE float
#define SUFFIX f32
#include "kernels.c"
#undef TYPE
#undef SUFFIX
#define TYPE uint16_t
#define SUFFIX bf16
#include "kernels.c"

#else

/* total = stream + dropout(update); normed = (total - mean) * rate * gain + bias. Not `centred`, as in the
 * RMS norm, the mean counts as 0; its bias is NULL. */
void F(add_norm_forward)(const TYPE *stream, const TYPE *update, const TYPE *gain, const TYPE *bias,
                         TYPE *total, TYPE *normed, float *mean, float *rate, int64_t rows, int64_t dim,
                         int64_t centred, double epsilon, int64_t threshold, int64_t seed) {
    Drop drop = drop_of(threshold, seed);
    float *line = aligned_alloc(64, sizeof(float) * dim);
    for (int64_t i = 0; i < rows; i++) {
        floats sum = {}, squares = {};
        for (int64_t d = 0; d < dim; d += LANES) {
            floats x = F(load)(update + i * dim + d);
            if (threshold) x *= kept(drop, (uint32_t)(i * dim + d));
            x += F(load)(stream + i * dim + d);
            F(store)(total + i * dim + d, x);
            x = F(load)(total + i * dim + d); /* as rounded, which is what the backward pass sees */
            store_f32(line + d, x);
            sum += x;
        }
        float centre = centred ? sum_of(sum) / dim : 0.0f;
        for (int64_t d = 0; d < dim; d += LANES) {
            floats x = load_f32(line + d) - centre;
            squares += x * x;
        }
        float inverse = 1.0f / sqrtf(sum_of(squares) / dim + (float)epsilon);
        for (int64_t d = 0; d < dim; d += LANES) {
            floats x = (load_f32(line + d) - centre) * inverse;
            F(store)(normed + i * dim + d, x * F(load)(gain + d) + (bias ? F(load)(bias + d) : spread(0.0f)));
        }
        mean[i] = centre;
        rate[i] = inverse;
    }
    free(line);
}

/* d_stream = d_total + (gradient through the norm); d_update = dropout of that, unless NULL.
 * d_gain and d_bias (NULL: there is none) are float32 and start at zero. */
void F(add_norm_backward)(const TYPE *total, const float *mean, const float *rate, const TYPE *gain,
                          const TYPE *d_total, const TYPE *d_normed, TYPE *d_stream, TYPE *d_update,
                          float *d_gain, float *d_bias, int64_t rows, int64_t dim, int64_t centred,
                          int64_t threshold, int64_t seed) {
    Drop drop = drop_of(threshold, seed);
    for (int64_t i = 0; i < rows; i++) {
        floats sum = {}, dot = {};
        for (int64_t d = 0; d < dim; d += LANES) {
            floats unit = (F(load)(total + i * dim + d) - mean[i]) * rate[i];
            floats slope = F(load)(d_normed + i * dim + d);
            store_f32(d_gain + d, load_f32(d_gain + d) + slope * unit);
            if (d_bias) store_f32(d_bias + d, load_f32(d_bias + d) + slope);
            slope *= F(load)(gain + d);
            sum += slope;
            dot += slope * unit;
        }
        float average = centred ? sum_of(sum) / dim : 0.0f, lean = sum_of(dot) / dim;
        for (int64_t d = 0; d < dim; d += LANES) {
            floats unit = (F(load)(total + i * dim + d) - mean[i]) * rate[i];
            floats slope = F(load)(d_normed + i * dim + d) * F(load)(gain + d);
            slope = (slope - average - unit * lean) * rate[i];
            if (d_total) slope += F(load)(d_total + i * dim + d);
            F(store)(d_stream + i * dim + d, slope);
            if (d_update) F(store)(d_update + i * dim + d, slope * kept(drop, (uint32_t)(i * dim + d)));
        }
    }
}

/* y = dropout(max(x, 0)); size is a multiple of 16 */
void F(relu_forward)(const TYPE *x, TYPE *y, int64_t size, int64_t threshold, int64_t seed) {
    Drop drop = drop_of(threshold, seed);
    for (int64_t i = 0; i < size; i += LANES) {
        floats bent = larger(spread(0.0f), F(load)(x + i));
        if (threshold) bent *= kept(drop, (uint32_t)i);
        F(store)(y + i, bent);
    }
}

/* d_x from the output y: where y is 0, by ReLU or by dropout, the gradient is 0 */
void F(relu_backward)(const TYPE *y, const TYPE *d_y, TYPE *d_x, int64_t size, double scale) {
    for (int64_t i = 0; i < size; i += LANES) {
        floats slope = F(load)(d_y + i) * (float)scale;
        F(store)(d_x + i, choose(F(load)(y + i) > 0.0f, slope, spread(0.0f)));
    }
}

/* y = dropout(silu(gate) * inner), silu(x) = x sigmoid(x); size is a multiple of 16 */
void F(silu_gate_forward)(const TYPE *gate, const TYPE *inner, TYPE *y, int64_t size, int64_t threshold,
                          int64_t seed) {
    Drop drop = drop_of(threshold, seed);
    for (int64_t i = 0; i < size; i += LANES) {
        floats x = F(load)(gate + i);
        floats gated = x * sigmoid(x) * F(load)(inner + i);
        if (threshold) gated *= kept(drop, (uint32_t)i);
        F(store)(y + i, gated);
    }
}

/* silu'(x) = sigmoid(x) (1 + x (1 - sigmoid(x))) */
void F(silu_gate_backward)(const TYPE *gate, const TYPE *inner, const TYPE *d_y, TYPE *d_gate, TYPE *d_inner,
                           int64_t size, int64_t threshold, int64_t seed) {
    Drop drop = drop_of(threshold, seed);
    for (int64_t i = 0; i < size; i += LANES) {
        floats x = F(load)(gate + i), open = sigmoid(x), slope = F(load)(d_y + i);
        if (threshold) slope *= kept(drop, (uint32_t)i);
        F(store)(d_inner + i, slope * x * open);
        F(store)(d_gate + i, slope * F(load)(inner + i) * open * (1.0f + x * (1.0f - open)));
    }
}

/* sums[column] = sum over rows; columns is a multiple of 16 */
void F(sum_rows)(const TYPE *x, TYPE *sums, int64_t rows, int64_t columns) {
    int64_t first = 0;
    for (; first + 4 * LANES <= columns; first += 4 * LANES) {
        floats total[4] = {};
        for (int64_t i = 0; i < rows; i++)
            for (int c = 0; c < 4; c++) total[c] += F(load)(x + i * columns + first + c * LANES);
        for (int c = 0; c < 4; c++) F(store)(sums + first + c * LANES, total[c]);
    }
    for (; first < columns; first += LANES) {
        floats total = {};
        for (int64_t i = 0; i < rows; i++) total += F(load)(x + i * columns + first);
        F(store)(sums + first, total);
    }
}

/* table[tokens[i]] += scale * x[i]; dim is a multiple of 16 */
void F(add_rows)(const int64_t *tokens, const TYPE *x, TYPE *table, int64_t rows, int64_t dim, double scale) {
    for (int64_t i = 0; i < rows; i++) {
        TYPE *row = table + tokens[i] * dim;
        for (int64_t d = 0; d < dim; d += LANES)
            F(store)(row + d, F(load)(row + d) + F(load)(x + i * dim + d) * (float)scale);
    }
}

/* y = dropout(x); its own backward pass; size is a multiple of 16 */
void F(dropout)(const TYPE *x, TYPE *y, int64_t size, int64_t threshold, int64_t seed) {
    Drop drop = drop_of(threshold, seed);
    for (int64_t i = 0; i < size; i += LANES)
        F(store)(y + i, F(load)(x + i) * kept(drop, (uint32_t)i));
}

#include "attention.h"
#include "heads.h"
#include "loss.h"
#include "recurrent.h"

#endif
