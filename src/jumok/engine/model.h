/* A whole Transformer for translation, or its decoder alone, on one thread.
 *
 * The encoder reads all sentences of a batch as one list of tokens, without padding. A step of the
 * decoder reads one token a row and passes through every block in one call; the keys and values of a
 * row stay where they were written, in its slot, and a hypothesis that continues another one reads
 * them there (its ancestors), so nothing is copied or gathered.
 */
#pragma once

#include "session.h"

typedef struct { const float *gain, *bias; } Norm; /* gain NULL: there is none */

typedef struct {
    Linear projections, output; /* queries, keys and values in one layer */
    Norm after_self;
    Linear cross_query, cross_projections, cross_output; /* keys and values of the Memory in one layer */
    Norm after_cross;
    Linear inner, outer;
    Norm after_feedforward;
} Block;

typedef struct {
    int64_t dim, heads, head_dim, value_dim, hidden, positions, encoder_blocks, decoder_blocks, post_norm;
    double epsilon, scale, embedding_scale;
    const float *source_table, *target_table; /* (vocabulary, dim) */
    const float *source_places, *target_places; /* (positions, dim), or NULL */
    Norm encoder_first, decoder_first;
    const Block *encoder, *decoder;
    Linear output;
} Model;

typedef struct {
    Session base;
    const Model *model;
    int64_t *offsets;            /* of each sentence's source tokens, and their number at the end */
    float **memory;              /* of each decoder block: (tokens, keys and values) */
    float **key, **value;        /* of each decoder block: (slots, longest, width) */
    float *stream, *normed, *wide, *found, *score;
    int32_t *places;            /* (rows) */
    const float **at;           /* addresses of keys, and of values: (2, positions) */
    int64_t reach;              /* how many of each */
} TransformerSession;

static inline int64_t key_width(const Model *m) { return m->heads * m->head_dim; }
static inline int64_t value_width(const Model *m) { return m->heads * m->value_dim; }

/* normed = norm(stream), one row; without a norm a copy */
static void norm_row(const float *x, float *y, Norm norm, int64_t dim, double epsilon) {
    if (!norm.gain) {
        memcpy(y, x, sizeof(float) * dim);
        return;
    }
    floats sum = {};
    for (int64_t d = 0; d < dim; d += LANES) sum += load_f32(x + d);
    float mean = total_of(sum) / dim;
    floats square = {};
    for (int64_t d = 0; d < dim; d += LANES) {
        floats apart = load_f32(x + d) - mean;
        square += apart * apart;
    }
    float rate = 1.0f / sqrtf(total_of(square) / dim + (float)epsilon);
    for (int64_t d = 0; d < dim; d += LANES)
        store_f32(y + d, (load_f32(x + d) - mean) * rate * load_f32(norm.gain + d) + load_f32(norm.bias + d));
}

/* stream += update, then its norm, which replaces the stream in post-norm models */
static void add_norm(const Model *m, float *stream, const float *update, float *normed, Norm norm, int64_t rows) {
    int64_t row_width = panelled(m->dim);
    for (int64_t row = 0; row < rows; row++) {
        float *x = stream + row * row_width, *y = normed + row * row_width;
        for (int64_t d = 0; d < m->dim; d += LANES)
            store_f32(x + d, load_f32(x + d) + load_f32(update + row * row_width + d));
        norm_row(x, y, norm, m->dim, m->epsilon);
        if (m->post_norm) memcpy(x, y, sizeof(float) * m->dim);
    }
}

static void embed(const Model *m, const float *table, const float *of_place, const int32_t *tokens,
                  const int32_t *places, float *stream, int64_t rows) {
    for (int64_t row = 0; row < rows; row++, stream += panelled(m->dim))
        for (int64_t d = 0; d < m->dim; d += LANES) {
            floats word = load_f32(table + tokens[row] * m->dim + d) * (float)m->embedding_scale;
            if (of_place) word += load_f32(of_place + places[row] * m->dim + d);
            store_f32(stream + d, word);
        }
}

/* One head of one row: key and value hold an address for each position. */
static void attend(const float *query, const float *const *key, const float *const *value, int64_t key_at,
                   int64_t value_at, int64_t keys, const Model *m, float *score, float *found) {
    for (int64_t j = 0; j < keys; j++) {
        floats dot = {};
        for (int64_t d = 0; d < m->head_dim; d += LANES) dot += load_f32(query + d) * load_f32(key[j] + key_at + d);
        score[j] = total_of(dot);
    }
    softmax(score, keys, (float)m->scale);
    for (int64_t d = 0; d < m->value_dim; d += LANES) {
        floats sum = {};
        for (int64_t j = 0; j < keys; j++) sum += score[j] * load_f32(value[j] + value_at + d);
        store_f32(found + d, sum);
    }
}

/* All heads of one row. */
static void attend_heads(const float *query, const float *const *key, const float *const *value, int64_t keys,
                         const Model *m, float *score, float *found) {
    for (int64_t head = 0; head < m->heads; head++)
        attend(query + head * m->head_dim, key, value, head * m->head_dim, head * m->value_dim, keys, m, score,
               found + head * m->value_dim);
}

static void feed_forward(TransformerSession *s, const Block *block, int64_t rows) {
    apply(&s->base, s->normed, rows, &block->inner, s->wide, 1);
    apply(&s->base, s->wide, rows, &block->outer, s->found, 0);
    add_norm(s->model, s->stream, s->found, s->normed, block->after_feedforward, rows);
}

/* Reads the sources; leaves the keys and values of the Memory for every block of the decoder. */
static void encode(TransformerSession *s, const int32_t *tokens, const int32_t *places) {
    const Model *m = s->model;
    int64_t count = s->offsets[s->base.sentences], dim = panelled(m->dim), keys = key_width(m);
    const float **key = s->at, **value = key + s->reach;
    embed(m, m->source_table, m->source_places, tokens, places, s->stream, count);
    for (int64_t row = 0; row < count; row++)
        norm_row(s->stream + row * dim, s->normed + row * dim, m->encoder_first, m->dim, m->epsilon);
    for (int64_t layer = 0; layer < m->encoder_blocks; layer++) {
        const Block *block = m->encoder + layer;
        int64_t width = panelled(block->projections.outputs), found = panelled(value_width(m));
        apply(&s->base, s->normed, count, &block->projections, s->wide, 0);
        for (int64_t sentence = 0; sentence < s->base.sentences; sentence++) {
            int64_t first = s->offsets[sentence], length = s->offsets[sentence + 1] - first;
            for (int64_t j = 0; j < length; j++) {
                key[j] = s->wide + (first + j) * width + keys;
                value[j] = key[j] + keys;
            }
            for (int64_t i = first; i < first + length; i++)
                attend_heads(s->wide + i * width, key, value, length, m, s->score, s->found + i * found);
        }
        /* the projections are no longer needed: their room takes the output */
        apply(&s->base, s->found, count, &block->output, s->wide, 0);
        add_norm(m, s->stream, s->wide, s->normed, block->after_self, count);
        feed_forward(s, block, count);
    }
    prepare(s->normed, dim, count, m->dim, m->decoder->cross_projections.kind, &s->base.rows);
    for (int64_t layer = 0; layer < m->decoder_blocks; layer++)
        linear(&s->base.rows, dim, count, &m->decoder[layer].cross_projections, s->memory[layer], 0);
}

/* Reads one token a row: see Step. Keys and values are written to slots and read from ancestors. */
static void step(Session *base, int64_t rows, const int32_t *tokens, int64_t position, const int32_t *slots,
                 const int32_t *ancestors, const int32_t *sentences) {
    TransformerSession *s = (TransformerSession *)base;
    const Model *m = s->model;
    int64_t dim = panelled(m->dim), keys = key_width(m), values = value_width(m), found = panelled(values);
    for (int64_t row = 0; row < rows; row++) s->places[row] = (int32_t)position;
    embed(m, m->target_table, m->target_places, tokens, s->places, s->stream, rows);
    for (int64_t row = 0; row < rows; row++)
        norm_row(s->stream + row * dim, s->normed + row * dim, m->decoder_first, m->dim, m->epsilon);
    const float **key = s->at, **value = key + s->reach;
    for (int64_t layer = 0; layer < m->decoder_blocks; layer++) {
        const Block *block = m->decoder + layer;
        int64_t width = panelled(block->projections.outputs);
        apply(&s->base, s->normed, rows, &block->projections, s->wide, 0);
        for (int64_t row = 0; row < rows; row++) {
            const float *here = s->wide + row * width;
            int64_t place = slots[row] * s->base.longest + position;
            memcpy(s->key[layer] + place * keys, here + keys, sizeof(float) * keys);
            memcpy(s->value[layer] + place * values, here + 2 * keys, sizeof(float) * values);
        }
        for (int64_t row = 0; row < rows; row++) {
            for (int64_t j = 0; j <= position; j++) {
                int64_t slot = ancestors && j < position ? ancestors[row * s->base.longest + j] : slots[row];
                key[j] = s->key[layer] + (slot * s->base.longest + j) * keys;
                value[j] = s->value[layer] + (slot * s->base.longest + j) * values;
            }
            attend_heads(s->wide + row * width, key, value, position + 1, m, s->score, s->found + row * found);
        }
        apply(&s->base, s->found, rows, &block->output, s->wide, 0);
        add_norm(m, s->stream, s->wide, s->normed, block->after_self, rows);

        apply(&s->base, s->normed, rows, &block->cross_query, s->wide, 0);
        int64_t both = panelled(block->cross_projections.outputs), queries = panelled(keys);
        for (int64_t row = 0; row < rows; row++) {
            int64_t first = s->offsets[sentences[row]], length = s->offsets[sentences[row] + 1] - first;
            for (int64_t j = 0; j < length; j++) {
                key[j] = s->memory[layer] + (first + j) * both;
                value[j] = key[j] + keys;
            }
            attend_heads(s->wide + row * queries, key, value, length, m, s->score, s->found + row * found);
        }
        apply(&s->base, s->found, rows, &block->cross_output, s->wide, 0);
        add_norm(m, s->stream, s->wide, s->normed, block->after_cross, rows);
        feed_forward(s, block, rows);
    }
}
