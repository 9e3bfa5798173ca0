/* The hot loops of a training step on one core, over float32 or bfloat16 tensors.
 *
 * Every function has a readable twin in torch beside its wrapper (attention.py, residual.py,
 * cross_entropy.py, activation.py, recurrent.py, step.py, noise.py), and a test that they agree. Arithmetic
 * is float32 whatever the tensors hold. Vectors of 16 floats are the compiler's own (gcc and clang): no
 * instruction of one machine stands in here, but for bfloat16 products where the processor has them. There
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

/* Reads a head (positions x dim) into float32, rows padded to a multiple of 16 with zeros. */
static void F(gather)(const TYPE *from, int64_t stride, float *to, int64_t positions, int64_t dim) {
    for (int64_t i = 0; i < positions; i++)
        for (int64_t d = 0; d < dim; d += LANES) store_f32(to + i * dim + d, F(load)(from + i * stride + d));
    memset(to + positions * dim, 0, sizeof(float) * (padded(positions) - positions) * dim);
}

static void F(scatter)(const float *from, TYPE *to, int64_t stride, int64_t positions, int64_t dim) {
    for (int64_t i = 0; i < positions; i++)
        for (int64_t d = 0; d < dim; d += LANES) F(store)(to + i * stride + d, load_f32(from + i * dim + d));
}

/* softmax of one row of scores, in place; keys beyond `keys` and forbidden ones get zero. bias: as
 * wide as the row, or NULL */
static void F(softmax_row)(float *row, const uint8_t *allowed, const float *bias, int64_t keys, float scale) {
    int64_t width = padded(keys);
    floats most = spread(-INFINITY);
    for (int64_t j = 0; j < width; j += LANES) {
        floats score = load_f32(row + j) * scale;
        if (bias) score += load_f32(bias + j);
        ints open = (ints)(COUNT + (uint32_t)j < (uint32_t)keys);
        if (allowed) {
            bytes may = {};
            memcpy(&may, allowed + j, keys - j < LANES ? keys - j : LANES);
            open &= __builtin_convertvector(may, ints) != 0;
        }
        score = choose(open, score, spread(-INFINITY));
        store_f32(row + j, score);
        most = larger(most, score);
    }
    float peak = max_of(most);
    if (peak == -INFINITY) {
        memset(row, 0, sizeof(float) * width);
        return;
    }
    floats total = {};
    for (int64_t j = 0; j < width; j += LANES) {
        floats score = load_f32(row + j);
        floats power = choose(score == -INFINITY, spread(0.0f), exponential(score - peak));
        store_f32(row + j, power);
        total += power;
    }
    float share = 1.0f / sum_of(total);
    for (int64_t j = 0; j < width; j += LANES) store_f32(row + j, load_f32(row + j) * share);
}

/* One head of a decoding step: few queries, which read keys and values where they lie. */
static void F(attend_few)(const TYPE *q, const TYPE *k, const TYPE *v, TYPE *out, const uint8_t *allowed,
                          const float *bias, const Sizes *size, const Strides *stride, float *score) {
    const Strides *sq = stride, *sk = stride + 1, *sv = stride + 2, *so = stride + 3, *sm = stride + 4;
    const Strides *sb = sm + (allowed != NULL);
    for (int64_t i = 0; i < size->queries; i++) {
        const TYPE *query = q + i * sq->position;
        for (int64_t j = 0; j < size->keys; j++) {
            floats dot = {};
            for (int64_t d = 0; d < size->dim; d += LANES)
                dot += F(load)(query + d) * F(load)(k + j * sk->position + d);
            score[j] = sum_of(dot);
        }
        F(softmax_row)(score, allowed ? allowed + i * sm->position : NULL, bias ? bias + i * sb->position : NULL,
                       size->keys, 1.0f / sqrtf((float)size->dim));
        for (int64_t d = 0; d < size->value_dim; d += LANES) {
            floats found = {};
            for (int64_t j = 0; j < size->keys; j++) found += score[j] * F(load)(v + j * sv->position + d);
            F(store)(out + i * so->position + d, found);
        }
    }
}

void F(attention_step)(const TYPE *q, const TYPE *k, const TYPE *v, TYPE *out, const uint8_t *allowed,
                       const float *bias, const Sizes *size, const Strides *stride) {
    const Strides *sq = stride, *sk = stride + 1, *sv = stride + 2, *so = stride + 3, *sm = stride + 4;
    const Strides *sb = sm + (allowed != NULL);
    float *score = aligned_alloc(64, sizeof(float) * padded(size->keys));
    for (int64_t b = 0; b < size->batch; b++)
        for (int64_t h = 0; h < size->heads; h++)
            F(attend_few)(q + b * sq->batch + h * sq->head, k + b * sk->batch + h * sk->head,
                          v + b * sv->batch + h * sv->head, out + b * so->batch + h * so->head,
                          allowed ? allowed + b * sm->batch + h * sm->head : NULL,
                          bias ? bias + b * sb->batch + h * sb->head : NULL, size, stride, score);
    free(score);
}

/* out = dropout(softmax(q k^T / sqrt(dim))) v; weights, before dropout, are kept for the backward
 * pass as (batch, heads, queries, padded keys). allowed: bytes, or NULL; bias: rows of padded keys, or
 * NULL; their strides come after those of q, k, v and out. */
void F(attention_forward)(const TYPE *q, const TYPE *k, const TYPE *v, TYPE *out, TYPE *weights,
                          const uint8_t *allowed, const float *bias, const Sizes *size, const Strides *stride,
                          int64_t threshold, int64_t seed) {
    int64_t n = size->queries, m = size->keys, d = size->dim, e = size->value_dim;
    int64_t rows = padded(n), width = padded(m);
    Drop drop = drop_of(threshold, seed);
    float *query = aligned_alloc(64, sizeof(float) * (rows * d + 2 * width * d + width * e + rows * width + rows * e));
    float *key = query + rows * d, *key_t = key + width * d, *value = key_t + width * d;
    float *score = value + width * e, *found = score + rows * width;
    const Strides *sq = stride, *sk = stride + 1, *sv = stride + 2, *so = stride + 3, *sm = stride + 4;
    const Strides *sb = sm + (allowed != NULL);
    for (int64_t b = 0; b < size->batch; b++)
        for (int64_t h = 0; h < size->heads; h++) {
            F(gather)(q + b * sq->batch + h * sq->head, sq->position, query, n, d);
            F(gather)(k + b * sk->batch + h * sk->head, sk->position, key, m, d);
            F(gather)(v + b * sv->batch + h * sv->head, sv->position, value, m, e);
            transpose(key, d, key_t, width, width, d);
            multiply(query, d, key_t, width, score, width, rows, d, width);
            int64_t head = b * size->heads + h;
            for (int64_t i = 0; i < n; i++) {
                float *row = score + i * width;
                const uint8_t *may = allowed ? allowed + b * sm->batch + h * sm->head + i * sm->position : NULL;
                const float *more = bias ? bias + b * sb->batch + h * sb->head + i * sb->position : NULL;
                F(softmax_row)(row, may, more, m, 1.0f / sqrtf((float)d));
                TYPE *save = weights + (head * n + i) * width;
                for (int64_t j = 0; j < width; j += LANES) F(store)(save + j, load_f32(row + j));
                if (threshold)
                    for (int64_t j = 0; j < width; j += LANES)
                        store_f32(row + j, load_f32(row + j) * kept(drop, (uint32_t)((head * n + i) * m + j)));
            }
            multiply(score, width, value, e, found, e, rows, m, e);
            F(scatter)(found, out + b * so->batch + h * so->head, so->position, n, e);
        }
    free(query);
}

/* Gradients of q, k and v from that of `out`; strides: q, k, v, d_out, d_q, d_k, d_v. */
void F(attention_backward)(const TYPE *q, const TYPE *k, const TYPE *v, const TYPE *weights,
                           const TYPE *d_out, TYPE *d_q, TYPE *d_k, TYPE *d_v, const Sizes *size,
                           const Strides *stride, int64_t threshold, int64_t seed) {
    int64_t n = size->queries, m = size->keys, d = size->dim, e = size->value_dim;
    int64_t rows = padded(n), width = padded(m), most = d > e ? d : e;
    Drop drop = drop_of(threshold, seed);
    float *query = aligned_alloc(
        64, sizeof(float) * (rows * d + width * d + 2 * width * e + rows * e + 4 * rows * width + (rows + width) * most));
    float *key = query + rows * d, *value = key + width * d, *value_t = value + width * e;
    float *given = value_t + width * e, *weight = given + rows * e, *slope = weight + rows * width;
    float *weight_t = slope + rows * width, *slope_t = weight_t + rows * width, *result = slope_t + rows * width;
    const Strides *sq = stride, *sk = stride + 1, *sv = stride + 2, *so = stride + 3;
    const Strides *tq = stride + 4, *tk = stride + 5, *tv = stride + 6;
    floats scale = spread(1.0f / sqrtf((float)d));
    for (int64_t b = 0; b < size->batch; b++)
        for (int64_t h = 0; h < size->heads; h++) {
            F(gather)(q + b * sq->batch + h * sq->head, sq->position, query, n, d);
            F(gather)(k + b * sk->batch + h * sk->head, sk->position, key, m, d);
            F(gather)(v + b * sv->batch + h * sv->head, sv->position, value, m, e);
            F(gather)(d_out + b * so->batch + h * so->head, so->position, given, n, e);
            transpose(value, e, value_t, width, width, e);
            multiply(given, e, value_t, width, slope, width, rows, e, width);
            int64_t head = b * size->heads + h;
            memset(weight + n * width, 0, sizeof(float) * (rows - n) * width);
            memset(slope + n * width, 0, sizeof(float) * (rows - n) * width);
            for (int64_t i = 0; i < n; i++) {
                const TYPE *saved = weights + (head * n + i) * width;
                floats dot = {};
                for (int64_t j = 0; j < width; j += LANES) {
                    floats p = F(load)(saved + j), dp = load_f32(slope + i * width + j);
                    floats keep = threshold ? kept(drop, (uint32_t)((head * n + i) * m + j)) : spread(1.0f);
                    store_f32(weight + i * width + j, p * keep);
                    store_f32(slope + i * width + j, dp * keep);
                    dot += p * dp * keep;
                }
                floats mean = spread(sum_of(dot));
                for (int64_t j = 0; j < width; j += LANES)
                    store_f32(slope + i * width + j,
                              F(load)(saved + j) * (load_f32(slope + i * width + j) - mean) * scale);
            }
            transpose(weight, width, weight_t, rows, rows, width);
            transpose(slope, width, slope_t, rows, rows, width);
            multiply(slope, width, key, d, result, d, rows, m, d);
            F(scatter)(result, d_q + b * tq->batch + h * tq->head, tq->position, n, d);
            multiply(slope_t, rows, query, d, result, d, width, n, d);
            F(scatter)(result, d_k + b * tk->batch + h * tk->head, tk->position, m, d);
            multiply(weight_t, rows, given, e, result, e, width, n, e);
            F(scatter)(result, d_v + b * tv->batch + h * tv->head, tv->position, m, e);
        }
    free(query);
}

/* total = stream + dropout(update); normed = (total - mean) * rate * gain + bias */
void F(add_norm_forward)(const TYPE *stream, const TYPE *update, const TYPE *gain, const TYPE *bias,
                         TYPE *total, TYPE *normed, float *mean, float *rate, int64_t rows, int64_t dim,
                         double epsilon, int64_t threshold, int64_t seed) {
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
        float centre = sum_of(sum) / dim;
        for (int64_t d = 0; d < dim; d += LANES) {
            floats x = load_f32(line + d) - centre;
            squares += x * x;
        }
        float inverse = 1.0f / sqrtf(sum_of(squares) / dim + (float)epsilon);
        for (int64_t d = 0; d < dim; d += LANES) {
            floats x = (load_f32(line + d) - centre) * inverse;
            F(store)(normed + i * dim + d, x * F(load)(gain + d) + F(load)(bias + d));
        }
        mean[i] = centre;
        rate[i] = inverse;
    }
    free(line);
}

/* d_stream = d_total + (gradient through the norm); d_update = dropout of that, unless NULL.
 * d_gain and d_bias are float32 and start at zero. */
void F(add_norm_backward)(const TYPE *total, const float *mean, const float *rate, const TYPE *gain,
                          const TYPE *d_total, const TYPE *d_normed, TYPE *d_stream, TYPE *d_update,
                          float *d_gain, float *d_bias, int64_t rows, int64_t dim, int64_t threshold,
                          int64_t seed) {
    Drop drop = drop_of(threshold, seed);
    for (int64_t i = 0; i < rows; i++) {
        floats sum = {}, dot = {};
        for (int64_t d = 0; d < dim; d += LANES) {
            floats unit = (F(load)(total + i * dim + d) - mean[i]) * rate[i];
            floats slope = F(load)(d_normed + i * dim + d);
            store_f32(d_gain + d, load_f32(d_gain + d) + slope * unit);
            store_f32(d_bias + d, load_f32(d_bias + d) + slope);
            slope *= F(load)(gain + d);
            sum += slope;
            dot += slope * unit;
        }
        float average = sum_of(sum) / dim, lean = sum_of(dot) / dim;
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

/* d_x from the output y: where y is 0 nothing passes, neither bent nor dropped */
void F(relu_backward)(const TYPE *y, const TYPE *d_y, TYPE *d_x, int64_t size, double scale) {
    for (int64_t i = 0; i < size; i += LANES) {
        floats slope = F(load)(d_y + i) * (float)scale;
        F(store)(d_x + i, choose(F(load)(y + i) > 0.0f, slope, spread(0.0f)));
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

/* y = dropout(x); its own backward pass; size is a multiple of 16 */
void F(dropout)(const TYPE *x, TYPE *y, int64_t size, int64_t threshold, int64_t seed) {
    Drop drop = drop_of(threshold, seed);
    for (int64_t i = 0; i < size; i += LANES)
        F(store)(y + i, F(load)(x + i) * kept(drop, (uint32_t)i));
}

#include "loss.h"
#include "recurrent.h"
#include "step.h"

#endif
