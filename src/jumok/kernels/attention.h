/* Attention: a few queries in decoding, and whole sentences in training. Tensors are
 * (batch, heads, positions, dim) with any strides but the last, which is 1; weights are kept as (batch,
 * heads, queries, padded keys). A mask is a range of keys of each query, the same for all heads
 * (look-ahead masks, windows, packed sentences), and bytes for what ranges do not say; either may be
 * missing. `reach` is the range of keys that a block of 16 queries may attend to; nothing outside is
 * computed: half of a causal mask, and most of one that keeps packed sentences apart.
 * Included by kernels.c, once for each element type.
 */

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

/* softmax of one row of `width` scores, in place; keys before `first` and from `end` on, and forbidden ones
 * get zero. bias: as wide as the row, or NULL */
static void F(softmax_row)(float *row, const uint8_t *allowed, const float *bias, int64_t width, int64_t first,
                           int64_t end, float scale) {
    floats most = spread(-INFINITY);
    for (int64_t j = 0; j < width; j += LANES) {
        floats score = load_f32(row + j) * scale;
        if (bias) score += load_f32(bias + j);
        ints open = (ints)(COUNT + (uint32_t)(j - first) < (uint32_t)(end - first));
        if (allowed && j < end) {
            bytes may = {};
            memcpy(&may, allowed + j, end - j < LANES ? end - j : LANES);
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

/* One head of a decoding step: few queries, which read keys and values in place. */
static void F(attend_few)(const TYPE *q, const TYPE *k, const TYPE *v, TYPE *out, const Reach *range,
                          const uint8_t *allowed, const float *bias, const Sizes *size, const Strides *stride,
                          float scale, float *score) {
    const Strides *sq = stride, *sk = stride + 1, *sv = stride + 2, *so = stride + 3, *sm = stride + 4;
    const Strides *sb = sm + (allowed != NULL);
    for (int64_t i = 0; i < size->queries; i++) {
        const TYPE *query = q + i * sq->position;
        int64_t first = range ? range[i].first : 0, end = range ? range[i].end : size->keys;
        for (int64_t j = first; j < end; j++) {
            floats dot = {};
            for (int64_t d = 0; d < size->dim; d += LANES)
                dot += F(load)(query + d) * F(load)(k + j * sk->position + d);
            score[j] = sum_of(dot);
        }
        F(softmax_row)(score, allowed ? allowed + i * sm->position : NULL, bias ? bias + i * sb->position : NULL,
                       padded(size->keys), first, end, scale);
        for (int64_t d = 0; d < size->value_dim; d += LANES) {
            floats found = {};
            for (int64_t j = first; j < end; j++) found += score[j] * F(load)(v + j * sv->position + d);
            F(store)(out + i * so->position + d, found);
        }
    }
}

/* ranges: (rows, queries); ranges_apart: those of one sentence from those of the next, or 0. */
void F(attention_step)(const TYPE *q, const TYPE *k, const TYPE *v, TYPE *out, const Reach *ranges,
                       int64_t ranges_apart, const uint8_t *allowed, const float *bias, const Sizes *size,
                       const Strides *stride, double scale) {
    const Strides *sq = stride, *sk = stride + 1, *sv = stride + 2, *so = stride + 3, *sm = stride + 4;
    const Strides *sb = sm + (allowed != NULL);
    float *score = aligned_alloc(64, sizeof(float) * padded(size->keys));
    for (int64_t b = 0; b < size->batch; b++)
        for (int64_t h = 0; h < size->heads; h++)
            F(attend_few)(q + b * sq->batch + h * sq->head, k + b * sk->batch + h * sk->head,
                          v + b * sv->batch + h * sv->head, out + b * so->batch + h * so->head,
                          ranges ? ranges + b * ranges_apart : NULL,
                          allowed ? allowed + b * sm->batch + h * sm->head : NULL,
                          bias ? bias + b * sb->batch + h * sb->head : NULL, size, stride, (float)scale, score);
    free(score);
}

/* Every block's reach under a mask: by the ranges of its queries, and inside of these by the bytes, whose
 * rows are `position` apart. */
static void F(measure)(const Reach *range, const uint8_t *allowed, int64_t position, int64_t queries, int64_t keys,
                       Reach *reach) {
    for (int64_t row = 0; row < queries; row += BLOCK, reach++) {
        int64_t first = keys, end = 0;
        for (int64_t i = row; i < queries && i < row + BLOCK; i++) {
            int64_t low = range ? range[i].first : 0, high = range ? range[i].end : keys;
            if (low >= high) continue;
            if (!allowed) {
                if (low < first) first = low;
                if (high > end) end = high;
                continue;
            }
            const uint8_t *may = allowed + i * position, *found = low < first ? memchr(may + low, 1, first - low) : NULL;
            if (found) first = found - may;
            for (int64_t j = high; j > end && j > low; j--)
                if (may[j - 1]) end = j;
        }
        reach->first = first < end ? first / BLOCK * BLOCK : 0;
        reach->end = padded(end);
    }
}

/* out = dropout(softmax(scale q k^T)) v; weights, before dropout, and `reach` are kept for the
 * backward pass. ranges: as in attention_step, or NULL; allowed: bytes, or NULL; bias: rows of padded keys,
 * or NULL; the strides of the last two come after those of q, k, v and out. */
void F(attention_forward)(const TYPE *q, const TYPE *k, const TYPE *v, TYPE *out, TYPE *weights, Reach *reach,
                          const Reach *ranges, int64_t ranges_apart, const uint8_t *allowed, const float *bias,
                          const Sizes *size, const Strides *stride, double scale, int64_t threshold, int64_t seed) {
    int64_t n = size->queries, m = size->keys, d = size->dim, e = size->value_dim;
    int64_t rows = padded(n), width = padded(m), blocks = rows / BLOCK;
    Drop drop = drop_of(threshold, seed);
    float *query = aligned_alloc(64, sizeof(float) * (rows * d + 2 * width * d + width * e + rows * width + rows * e));
    float *key = query + rows * d, *key_t = key + width * d, *value = key_t + width * d;
    float *score = value + width * e, *found = score + rows * width;
    const Strides *sq = stride, *sk = stride + 1, *sv = stride + 2, *so = stride + 3, *sm = stride + 4;
    const Strides *sb = sm + (allowed != NULL);
    for (int64_t head = 0; head < size->batch * size->heads; head++, reach += blocks) {
        int64_t b = head / size->heads, h = head % size->heads;
        const uint8_t *mask = allowed ? allowed + b * sm->batch + h * sm->head : NULL;
        const Reach *range = ranges ? ranges + b * ranges_apart : NULL;
        if (h && !(allowed && sm->head))
            memcpy(reach, reach - blocks, sizeof(Reach) * blocks); /* the heads of a sentence share its mask */
        else
            F(measure)(range, mask, allowed ? sm->position : 0, n, m, reach);
        F(gather)(q + b * sq->batch + h * sq->head, sq->position, query, n, d);
        F(gather)(k + b * sk->batch + h * sk->head, sk->position, key, m, d);
        F(gather)(v + b * sv->batch + h * sv->head, sv->position, value, m, e);
        transpose(key, d, key_t, width, width, d);
        for (int64_t row = 0; row < n; row += BLOCK) {
            int64_t first = reach[row / BLOCK].first, end = reach[row / BLOCK].end;
            int64_t count = n - row < BLOCK ? n - row : BLOCK, inside = (m < end ? m : end) - first;
            multiply(query + row * d, d, 1, key_t + first, width, score + row * width + first, width, count, d,
                     end - first);
            for (int64_t i = row; i < row + count; i++) {
                float *line = score + i * width;
                const float *more = bias ? bias + b * sb->batch + h * sb->head + i * sb->position + first : NULL;
                int64_t from = range ? range[i].first - first : 0, to = range ? range[i].end - first : inside;
                if (from >= to) from = to = 0; /* a query that sees nothing may have a range outside of the reach */
                F(softmax_row)(line + first, mask ? mask + i * sm->position + first : NULL, more, end - first, from,
                               to, (float)scale);
                TYPE *save = weights + (head * n + i) * width;
                for (int64_t j = first; j < end; j += LANES) {
                    floats weight = load_f32(line + j);
                    F(store)(save + j, weight);
                    if (threshold) store_f32(line + j, weight * kept(drop, (uint32_t)((head * n + i) * m + j)));
                }
            }
            multiply(score + row * width + first, width, 1, value + first * e, e, found + row * e, e, count, inside, e);
        }
        F(scatter)(found, out + b * so->batch + h * so->head, so->position, n, e);
    }
    free(query);
}

/* d_weights to d_scores within a row's reach, and the weights as they were used; zeros outside it */
static void F(slopes_of_row)(const TYPE *saved, float *weight, float *slope, Reach reach, int64_t width,
                             float scale, Drop drop, uint32_t index) {
    floats dot = {};
    memset(weight, 0, sizeof(float) * width);
    memset(slope, 0, sizeof(float) * reach.first);
    memset(slope + reach.end, 0, sizeof(float) * (width - reach.end));
    for (int64_t j = reach.first; j < reach.end; j += LANES) {
        floats p = F(load)(saved + j), dp = load_f32(slope + j);
        floats keep = drop.threshold ? kept(drop, index + (uint32_t)j) : spread(1.0f);
        store_f32(weight + j, p * keep);
        store_f32(slope + j, dp * keep);
        dot += p * dp * keep;
    }
    float mean = sum_of(dot);
    for (int64_t j = reach.first; j < reach.end; j += LANES)
        store_f32(slope + j, F(load)(saved + j) * (load_f32(slope + j) - mean) * scale);
}

/* Gradients of q, k and v from that of `out`; strides: q, k, v, d_out, d_q, d_k, d_v. */
void F(attention_backward)(const TYPE *q, const TYPE *k, const TYPE *v, const TYPE *weights, const Reach *reach,
                           const TYPE *d_out, TYPE *d_q, TYPE *d_k, TYPE *d_v, const Sizes *size,
                           const Strides *stride, double scale, int64_t threshold, int64_t seed) {
    int64_t n = size->queries, m = size->keys, d = size->dim, e = size->value_dim;
    int64_t rows = padded(n), width = padded(m), most = d > e ? d : e, blocks = rows / BLOCK;
    Drop drop = drop_of(threshold, seed);
    float *query = aligned_alloc(
        64, sizeof(float) * (rows * d + width * d + 2 * width * e + rows * e + 2 * rows * width + (rows + width) * most));
    float *key = query + rows * d, *value = key + width * d, *value_t = value + width * e;
    float *given = value_t + width * e, *weight = given + rows * e, *slope = weight + rows * width;
    float *result = slope + rows * width;
    const Strides *sq = stride, *sk = stride + 1, *sv = stride + 2, *so = stride + 3;
    const Strides *tq = stride + 4, *tk = stride + 5, *tv = stride + 6;
    for (int64_t head = 0; head < size->batch * size->heads; head++, reach += blocks) {
        int64_t b = head / size->heads, h = head % size->heads;
        F(gather)(q + b * sq->batch + h * sq->head, sq->position, query, n, d);
        F(gather)(k + b * sk->batch + h * sk->head, sk->position, key, m, d);
        F(gather)(v + b * sv->batch + h * sv->head, sv->position, value, m, e);
        F(gather)(d_out + b * so->batch + h * so->head, so->position, given, n, e);
        transpose(value, e, value_t, width, width, e);
        for (int64_t row = 0; row < n; row += BLOCK) {
            Reach keys = reach[row / BLOCK];
            int64_t count = n - row < BLOCK ? n - row : BLOCK, inside = (m < keys.end ? m : keys.end) - keys.first;
            float *block = slope + row * width;
            multiply(given + row * e, e, 1, value_t + keys.first, width, block + keys.first, width, count, e,
                     keys.end - keys.first);
            for (int64_t i = row; i < row + count; i++)
                F(slopes_of_row)(weights + (head * n + i) * width, weight + i * width, slope + i * width, keys,
                                 width, (float)scale, drop, (uint32_t)((head * n + i) * m));
            multiply(block + keys.first, width, 1, key + keys.first * d, d, result + row * d, d, count, inside, d);
        }
        F(scatter)(result, d_q + b * tq->batch + h * tq->head, tq->position, n, d);
        for (int turn = 0; turn < 2; turn++) { /* d_k = slope^T q, then d_v = weight^T d_out */
            const float *by = turn ? weight : slope, *of = turn ? given : query;
            int64_t across = turn ? e : d;
            for (int64_t column = 0; column < m; column += BLOCK) {
                int64_t first = n, end = 0, count = m - column < BLOCK ? m - column : BLOCK;
                for (int64_t row = 0; row < n; row += BLOCK)
                    if (reach[row / BLOCK].first <= column && column < reach[row / BLOCK].end) {
                        if (row < first) first = row;
                        end = row + BLOCK < n ? row + BLOCK : n;
                    }
                if (end < first) first = end;
                multiply(by + first * width + column, 1, width, of + first * across, across, result + column * across,
                         across, count, end - first, across);
            }
            if (turn)
                F(scatter)(result, d_v + b * tv->batch + h * tv->head, tv->position, m, e);
            else
                F(scatter)(result, d_k + b * tk->batch + h * tk->head, tk->position, m, d);
        }
    }
    free(query);
}
