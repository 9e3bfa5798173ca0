/* What RNNs with attention spend their time in besides matrix products: a GRU's gates, additive scores.
 *
 * kernels.c includes this once for each element type. dim and hidden are multiples of 16.
 */

/* r, z = sigmoid(x + u), n = tanh(x_n + r u_n), h' = n + z (h - n), for rows of x = W input, which lie
 * `stride` apart, and u = U h. gates keeps r, z, n and u_n of every row for the backward pass. */
void F(gru_forward)(const TYPE *x, int64_t stride, const TYPE *u, const TYPE *before, TYPE *after,
                    TYPE *gates, int64_t rows, int64_t dim) {
    for (int64_t i = 0; i < rows; i++, x += stride, u += 3 * dim, before += dim, after += dim, gates += 4 * dim)
        for (int64_t d = 0; d < dim; d += LANES) {
            floats by_state = F(load)(u + 2 * dim + d), had = F(load)(before + d);
            floats reset = sigmoid(F(load)(x + d) + F(load)(u + d));
            floats keep = sigmoid(F(load)(x + dim + d) + F(load)(u + dim + d));
            floats new = hyperbolic(F(load)(x + 2 * dim + d) + reset * by_state);
            F(store)(gates + d, reset);
            F(store)(gates + dim + d, keep);
            F(store)(gates + 2 * dim + d, new);
            F(store)(gates + 3 * dim + d, by_state);
            F(store)(after + d, new + keep * (had - new));
        }
}

/* The gradient of h' is the sum of `carried` and `shown`, whose rows are `dim` and `stride` apart. carried
 * becomes the part of h's gradient that does not go through U. Rows of d_x are `x_stride` apart. */
void F(gru_backward)(const TYPE *gates, const TYPE *before, TYPE *carried, const TYPE *shown, int64_t stride,
                     TYPE *d_x, int64_t x_stride, TYPE *d_u, int64_t rows, int64_t dim) {
    for (int64_t i = 0; i < rows; i++, gates += 4 * dim, before += dim, carried += dim, shown += stride,
                 d_x += x_stride, d_u += 3 * dim)
        for (int64_t d = 0; d < dim; d += LANES) {
            floats slope = F(load)(carried + d) + F(load)(shown + d);
            floats reset = F(load)(gates + d), keep = F(load)(gates + dim + d);
            floats new = F(load)(gates + 2 * dim + d);
            floats d_new = slope * (1.0f - keep) * (1.0f - new * new);
            floats d_keep = slope * (F(load)(before + d) - new) * keep * (1.0f - keep);
            floats d_reset = d_new * F(load)(gates + 3 * dim + d) * reset * (1.0f - reset);
            F(store)(d_x + d, d_reset);
            F(store)(d_u + d, d_reset);
            F(store)(d_x + dim + d, d_keep);
            F(store)(d_u + dim + d, d_keep);
            F(store)(d_x + 2 * dim + d, d_new);
            F(store)(d_u + 2 * dim + d, d_new * reset);
            F(store)(carried + d, slope * keep);
        }
}

/* scores[b][q][k] = sum over the hidden units of energy tanh(query + key) */
void F(additive_forward)(const TYPE *query, const TYPE *key, const TYPE *energy, float *scores,
                         int64_t batch, int64_t queries, int64_t keys, int64_t hidden) {
    for (int64_t b = 0; b < batch; b++, key += keys * hidden)
        for (int64_t q = 0; q < queries; q++, query += hidden)
            for (int64_t k = 0; k < keys; k++) {
                floats total = {};
                for (int64_t d = 0; d < hidden; d += LANES) {
                    floats bent = hyperbolic(F(load)(query + d) + F(load)(key + k * hidden + d));
                    total += F(load)(energy + d) * bent;
                }
                *scores++ = sum_of(total);
            }
}

/* Adds to the gradients, which are float32 and begin as zeros. tanh is computed again: keeping it
 * would take `hidden` times the memory of the scores. */
void F(additive_backward)(const TYPE *query, const TYPE *key, const TYPE *energy, const float *d_scores,
                          float *d_query, float *d_key, float *d_energy,
                          int64_t batch, int64_t queries, int64_t keys, int64_t hidden) {
    for (int64_t b = 0; b < batch; b++, key += keys * hidden, d_key += keys * hidden)
        for (int64_t q = 0; q < queries; q++, query += hidden, d_query += hidden)
            for (int64_t k = 0; k < keys; k++) {
                float slope = *d_scores++;
                if (slope == 0) continue; /* a key that may not be attended to */
                for (int64_t d = 0; d < hidden; d += LANES) {
                    floats bent = hyperbolic(F(load)(query + d) + F(load)(key + k * hidden + d));
                    floats inner = slope * F(load)(energy + d) * (1.0f - bent * bent);
                    store_f32(d_query + d, load_f32(d_query + d) + inner);
                    store_f32(d_key + k * hidden + d, load_f32(d_key + k * hidden + d) + inner);
                    store_f32(d_energy + d, load_f32(d_energy + d) + slope * bent);
                }
            }
}
