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

enum { ENCODER, DECODER, CROSS };

/* An attention whose weights are kept: (chosen heads, queries, keys) of each sentence, one sentence
 * after the other. rank: of each head, its number among the chosen ones, or -1. */
typedef struct {
    int64_t part, layer, heads;
    const int32_t *rank;
    float *weights; /* where those of the next sentence go */
} Watched;

/* Where the weights of one row are kept: those of a head `apart` elements after those of the head before. */
typedef struct { const int32_t *rank; float *weights; int64_t apart; } Kept; /* weights NULL: nowhere */

typedef struct {
    Session base;
    const Model *model;
    Watched *watched;
    int64_t watched_count;
    const int64_t *targets;      /* where each given target begins; NULL: they are not given */
    int64_t most;                /* rows of one pass */
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
                         const Model *m, float *score, float *found, Kept kept) {
    for (int64_t head = 0; head < m->heads; head++) {
        attend(query + head * m->head_dim, key, value, head * m->head_dim, head * m->value_dim, keys, m, score,
               found + head * m->value_dim);
        if (kept.weights && kept.rank[head] >= 0)
            memcpy(kept.weights + kept.rank[head] * kept.apart, score, sizeof(float) * keys);
    }
}

/* The attention of this part and layer if its weights are kept, or NULL. */
static Watched *watched_of(const TransformerSession *s, int64_t part, int64_t layer) {
    for (int64_t i = 0; i < s->watched_count; i++)
        if (s->watched[i].part == part && s->watched[i].layer == layer) return s->watched + i;
    return NULL;
}

/* The room for one of a sentence's queries; they come in order, and the last one ends the sentence. */
static Kept room_for(Watched *w, int64_t query, int64_t queries, int64_t keys) {
    if (!w) return (Kept){0};
    Kept kept = {w->rank, w->weights + query * keys, queries * keys};
    if (query + 1 == queries) w->weights += w->heads * queries * keys;
    return kept;
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
        Watched *watched = watched_of(s, ENCODER, layer);
        apply(&s->base, s->normed, count, &block->projections, s->wide, 0);
        for (int64_t sentence = 0; sentence < s->base.sentences; sentence++) {
            int64_t first = s->offsets[sentence], length = s->offsets[sentence + 1] - first;
            for (int64_t j = 0; j < length; j++) {
                key[j] = s->wide + (first + j) * width + keys;
                value[j] = key[j] + keys;
            }
            for (int64_t i = 0; i < length; i++)
                attend_heads(s->wide + (first + i) * width, key, value, length, m, s->score,
                             s->found + (first + i) * found, room_for(watched, i, length, length));
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

/* Self-attention of rows whose keys and values are in their slots; what is found goes to s->found. */
static void attend_to_past(TransformerSession *s, int64_t layer, int64_t rows, int64_t width, const int32_t *places,
                           const int32_t *slots, const int32_t *ancestors) {
    const Model *m = s->model;
    int64_t keys = key_width(m), values = value_width(m), longest = s->base.longest;
    const float **key = s->at, **value = key + s->reach;
    Watched *watched = s->targets ? watched_of(s, DECODER, layer) : NULL;
    for (int64_t row = 0; row < rows; row++) {
        int64_t slot = slots[row], place = places[row];
        for (int64_t j = 0; j <= place; j++) {
            int64_t from = (ancestors && j < place ? ancestors[row * longest + j] : slot) * longest + j;
            key[j] = s->key[layer] + from * keys;
            value[j] = s->value[layer] + from * values;
        }
        int64_t length = watched ? s->targets[slot + 1] - s->targets[slot] : 0;
        attend_heads(s->wide + row * width, key, value, place + 1, m, s->score, s->found + row * panelled(values),
                     room_for(watched, place, length, length));
    }
}

/* Attention to the Memory, from the queries in s->wide. */
static void attend_to_memory(TransformerSession *s, int64_t layer, int64_t rows, const int32_t *places,
                             const int32_t *sentences) {
    const Model *m = s->model;
    int64_t keys = key_width(m), both = panelled(m->decoder[layer].cross_projections.outputs);
    const float **key = s->at, **value = key + s->reach;
    Watched *watched = s->targets ? watched_of(s, CROSS, layer) : NULL;
    for (int64_t row = 0; row < rows; row++) {
        int64_t sentence = sentences[row], first = s->offsets[sentence], length = s->offsets[sentence + 1] - first;
        for (int64_t j = 0; j < length; j++) {
            key[j] = s->memory[layer] + (first + j) * both;
            value[j] = key[j] + keys;
        }
        int64_t queries = watched ? s->targets[sentence + 1] - s->targets[sentence] : 0;
        attend_heads(s->wide + row * panelled(keys), key, value, length, m, s->score,
                     s->found + row * panelled(value_width(m)), room_for(watched, places[row], queries, length));
    }
}

/* Reads one token a row, at any positions; rows of one slot continue each other. As in Step, but for
 * places: the position of each row; layers: how many blocks are passed through. */
static void read_rows(TransformerSession *s, int64_t rows, const int32_t *tokens, const int32_t *places,
                      const int32_t *slots, const int32_t *ancestors, const int32_t *sentences, int64_t layers) {
    const Model *m = s->model;
    int64_t dim = panelled(m->dim), keys = key_width(m), values = value_width(m);
    embed(m, m->target_table, m->target_places, tokens, places, s->stream, rows);
    for (int64_t row = 0; row < rows; row++)
        norm_row(s->stream + row * dim, s->normed + row * dim, m->decoder_first, m->dim, m->epsilon);
    for (int64_t layer = 0; layer < layers; layer++) {
        const Block *block = m->decoder + layer;
        int64_t width = panelled(block->projections.outputs);
        apply(&s->base, s->normed, rows, &block->projections, s->wide, 0);
        for (int64_t row = 0; row < rows; row++) {
            const float *here = s->wide + row * width;
            int64_t place = slots[row] * s->base.longest + places[row];
            memcpy(s->key[layer] + place * keys, here + keys, sizeof(float) * keys);
            memcpy(s->value[layer] + place * values, here + 2 * keys, sizeof(float) * values);
        }
        attend_to_past(s, layer, rows, width, places, slots, ancestors);
        apply(&s->base, s->found, rows, &block->output, s->wide, 0);
        add_norm(m, s->stream, s->wide, s->normed, block->after_self, rows);

        apply(&s->base, s->normed, rows, &block->cross_query, s->wide, 0);
        attend_to_memory(s, layer, rows, places, sentences);
        apply(&s->base, s->found, rows, &block->cross_output, s->wide, 0);
        add_norm(m, s->stream, s->wide, s->normed, block->after_cross, rows);
        feed_forward(s, block, rows);
    }
}

/* Reads one token a row: see Step. Keys and values are written to slots and read from ancestors. */
static void step(Session *base, int64_t rows, const int32_t *tokens, int64_t position, const int32_t *slots,
                 const int32_t *ancestors, const int32_t *sentences) {
    TransformerSession *s = (TransformerSession *)base;
    for (int64_t row = 0; row < rows; row++) s->places[row] = (int32_t)position;
    read_rows(s, rows, tokens, s->places, slots, ancestors, sentences, s->model->decoder_blocks);
}
