/* One step of decoding through one block of a decoder: few rows, every weight read once.
 *
 * kernels.c includes this once for each element type. All widths are multiples of 16. What it gives
 * is what `Block.step` in layers/block.py gives, part by part.
 */

/* A linear layer whose weights lie in panels of 32 outputs: (panels, inner / PAIR, 32, PAIR). The last
 * panel is filled up with zeros, and so is the bias. */
typedef struct { const TYPE *panels; const float *bias; } F(Layer);
typedef struct { const TYPE *gain, *bias; } F(Norm);
typedef struct {
    F(Layer) query, key, value, output;
    F(Norm) after_self;
    F(Layer) cross_query, cross_output; /* NULL without a Memory */
    F(Norm) after_cross;
    F(Layer) inner, outer;
    F(Norm) after_feedforward;
} F(Weights);

/* What is written for observers: the queries (rows, heads, head_dim), and the weights
 * (rows, heads, padded keys). NULL: there is no observer. */
typedef struct { TYPE *query, *weights; } F(Seen);

/* The keys and values: those of the written positions, which come first in memory, and those of the
 * Memory; and where queries and weights are written. */
typedef struct {
    TYPE *past_key, *past_value;
    const TYPE *memory_key, *memory_value;
    const uint8_t *allowed; /* (rows, source), or NULL */
    int64_t allowed_row, first, length, source; /* first: the first written position that is attended to */
    Strides key, value; /* of the Memory */
    F(Seen) self, cross;
} F(Places);

#ifndef STEP_SIZES
#define STEP_SIZES
typedef struct { int64_t rows, dim, heads, head_dim, value_dim, hidden, post_norm; } StepSizes;
#define PANEL 32
#define SUMS (LANES == 16 ? 16 : 8) /* vectors that are summed in registers */
#define ROWS (SUMS / 2)
#endif

/* The outputs of `rows` rows, at most `columns` of one panel; rows is a constant wherever this is called */
static inline __attribute__((always_inline)) void F(tile)(const TYPE *x, int64_t x_row, const TYPE *panel,
                                                          const float *bias, TYPE *y, int64_t y_row,
                                                          int64_t inner, int64_t columns, int bend, const int rows) {
    const int all = PANEL / LANES, wide = rows * all <= SUMS ? all : rows * all <= 2 * SUMS ? all / 2 : 2;
    for (int from = 0; from < all; from += wide) {
        floats sum[ROWS][PANEL / LANES];
        const TYPE *part = panel + from * LANES * F(PAIR);
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < wide; v++) sum[r][v] = load_f32(bias + (from + v) * LANES);
        for (int64_t k = 0; k < inner; k += F(PAIR), part += PANEL * F(PAIR))
            for (int r = 0; r < rows; r++)
                for (int v = 0; v < wide; v++)
                    sum[r][v] = F(times)(sum[r][v], x + r * x_row + k, part + v * LANES * F(PAIR));
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < wide; v++) {
                if (bend) sum[r][v] = larger(spread(0.0f), sum[r][v]);
                if ((from + v) * LANES < columns) F(store)(y + r * y_row + (from + v) * LANES, sum[r][v]);
            }
    }
}

/* y = x W^T + b, or the positive part of it */
static void F(linear)(const TYPE *x, F(Layer) layer, TYPE *y, int64_t rows, int64_t inner, int64_t outer, int bend) {
    for (int64_t column = 0; column < outer; column += PANEL) {
        const TYPE *panel = layer.panels + column * inner;
        const float *bias = layer.bias + column;
        int64_t columns = outer - column;
        int64_t row = 0;
        for (; row + ROWS <= rows; row += ROWS)
            F(tile)(x + row * inner, inner, panel, bias, y + row * outer + column, outer, inner, columns, bend, ROWS);
#define REST(n) \
    case n: F(tile)(x + row * inner, inner, panel, bias, y + row * outer + column, outer, inner, columns, bend, n); break;
#if LANES == 16
        switch (rows - row) { REST(1) REST(2) REST(3) REST(4) REST(5) REST(6) REST(7) }
#else
        switch (rows - row) { REST(1) REST(2) REST(3) }
#endif
#undef REST
    }
}

/* The output of every row, its heads concatenated; weights: (rows, heads, padded keys), or NULL. */
static void F(look)(const TYPE *query, const TYPE *key, const TYPE *value, TYPE *found, Strides of_key,
                    Strides of_value, int64_t keys, const uint8_t *allowed, int64_t allowed_row,
                    const StepSizes *size, float scale, float *score, TYPE *weights) {
    int64_t width = padded(keys);
    Sizes few = {1, 1, 1, keys, size->head_dim, size->value_dim};
    Strides strides[5] = {{0}, of_key, of_value, {0}, {0}};
    for (int64_t row = 0; row < size->rows; row++)
        for (int64_t head = 0; head < size->heads; head++) {
            F(attend_few)(query + (row * size->heads + head) * size->head_dim,
                          key + row * of_key.batch + head * of_key.head,
                          value + row * of_value.batch + head * of_value.head,
                          found + (row * size->heads + head) * size->value_dim, NULL,
                          allowed ? allowed + row * allowed_row : NULL, NULL, &few, strides, scale, score);
            if (!weights) continue;
            for (int64_t j = 0; j < width; j += LANES, weights += LANES) F(store)(weights, load_f32(score + j));
        }
}

/* stream and normed (rows, dim) become those of the next block. */
static void F(after)(TYPE *stream, const TYPE *update, TYPE *normed, F(Norm) norm, const StepSizes *size,
                     float *facts, double epsilon) {
    int64_t rows = size->rows, dim = size->dim;
    F(add_norm_forward)(stream, update, norm.gain, norm.bias, stream, normed, facts, facts + rows, rows, dim, 1, epsilon, 0, 0);
    if (size->post_norm) memcpy(stream, normed, sizeof(TYPE) * rows * dim);
}

void F(block_step)(const F(Weights) *weights, const F(Places) *places, const StepSizes *size, TYPE *stream,
                   TYPE *normed, double epsilon, double scale) {
    int64_t rows = size->rows, dim = size->dim, heads = size->heads;
    int64_t key_width = heads * size->head_dim, value_width = heads * size->value_dim, length = places->length;
    int64_t longest = length + 1 > places->source ? length + 1 : places->source;
    int64_t widest = key_width > size->hidden ? key_width : size->hidden;
    float *score = aligned_alloc(64, sizeof(float) * (padded(longest) + padded(2 * rows)));
    float *facts = score + padded(longest);
    /* for the queries and the inner layer; whole vectors of floats, as aligned_alloc wants multiples of 64 */
    TYPE *wide = aligned_alloc(64, sizeof(float) * rows * (widest + value_width + dim));
    TYPE *found = wide + rows * widest, *update = found + rows * value_width;
    TYPE *query = places->self.query ? places->self.query : wide;

    TYPE *new_key = places->past_key + length * rows * key_width;
    TYPE *new_value = places->past_value + length * rows * value_width;
    Strides of_key = {key_width, size->head_dim, rows * key_width};
    Strides of_value = {value_width, size->value_dim, rows * value_width};
    F(linear)(normed, weights->query, query, rows, dim, key_width, 0);
    F(linear)(normed, weights->key, new_key, rows, dim, key_width, 0);
    F(linear)(normed, weights->value, new_value, rows, dim, value_width, 0);
    F(look)(query, places->past_key + places->first * of_key.position,
            places->past_value + places->first * of_value.position, found, of_key, of_value,
            length + 1 - places->first, NULL, 0, size, (float)scale, score, places->self.weights);
    F(linear)(found, weights->output, update, rows, value_width, dim, 0);
    F(after)(stream, update, normed, weights->after_self, size, facts, epsilon);

    if (places->memory_key) {
        query = places->cross.query ? places->cross.query : wide;
        F(linear)(normed, weights->cross_query, query, rows, dim, key_width, 0);
        F(look)(query, places->memory_key, places->memory_value, found, places->key, places->value, places->source,
                places->allowed, places->allowed_row, size, (float)scale, score, places->cross.weights);
        F(linear)(found, weights->cross_output, update, rows, value_width, dim, 0);
        F(after)(stream, update, normed, weights->after_cross, size, facts, epsilon);
    }

    F(linear)(normed, weights->inner, wide, rows, dim, size->hidden, 1);
    F(linear)(wide, weights->outer, update, rows, size->hidden, dim, 0);
    F(after)(stream, update, normed, weights->after_feedforward, size, facts, epsilon);
    free(score);
    free(wide);
}
