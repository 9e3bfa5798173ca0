/* A whole Transformer on one thread: encoder and decoder, or a decoder alone (a language model).
 *
 * The encoder reads all sentences of a batch as one list of tokens, without padding. A pass of the
 * decoder reads one token a row through every block in one call; the keys and values of a row stay
 * where they were written, in its slot, and a hypothesis that continues another one reads them there
 * (its ancestors), so nothing is copied or gathered.
 */
#pragma once

#include "heads.h"

static void embed(TransformerSession *s, const float *table, const float *of_place, const int32_t *tokens,
                  const int32_t *places, int64_t rows) {
    int64_t dim = s->model->dim;
    float *stream = s->stream;
    for (int64_t row = 0; row < rows; row++, stream += panelled(dim))
        for (int64_t d = 0; d < dim; d += LANES) {
            floats word = load_f32(table + tokens[row] * dim + d);
            if (of_place) word += load_f32(of_place + places[row] * dim + d);
            store_f32(stream + d, word);
        }
}

/* Adds to each source token's vector the fraction of the sentence that comes before it. */
static void add_fractions(TransformerSession *s) {
    const Model *m = s->model;
    for (int64_t sentence = 0; sentence < s->base.sentences; sentence++) {
        int64_t first = s->offsets[sentence], length = s->offsets[sentence + 1] - first;
        for (int64_t place = 0; place < length; place++) {
            float *stream = s->stream + (first + place) * panelled(m->dim);
            float fraction = (float)place / (float)(length > 1 ? length - 1 : 1);
            for (int64_t d = 0; d < m->dim; d += LANES)
                store_f32(stream + d, load_f32(stream + d) + fraction * load_f32(m->source_fraction + d));
        }
    }
}

/* Self-attention of the encoder, from the projections in s->wide. */
static void attend_to_source(TransformerSession *s, int64_t layer, const int32_t *places) {
    const Model *m = s->model;
    const Block *block = m->encoder + layer;
    int64_t width = panelled(block->projections.outputs), queries = query_width(m), found = panelled(found_width(m));
    const float **key = s->at, **value = key + s->reach;
    Watched *watched = watched_of(s, ENCODER, layer);
    for (int64_t row = 0; row < s->offsets[s->base.sentences]; row++) {
        process(m, s->wide + row * width, m->heads, block->queries, places[row]);
        process(m, s->wide + row * width + queries, m->kv_heads, block->keys, places[row]);
    }
    for (int64_t sentence = 0; sentence < s->base.sentences; sentence++) {
        int64_t first = s->offsets[sentence], length = s->offsets[sentence + 1] - first;
        for (int64_t j = 0; j < length; j++) {
            key[j] = s->wide + (first + j) * width + queries;
            value[j] = key[j] + key_width(m);
        }
        for (int64_t i = 0; i < length; i++) {
            Seen seen = {key, value, length, i};
            attend_heads(s, s->wide + (first + i) * width, &seen, s->found + (first + i) * found,
                         room_for(watched, i, length, length));
        }
    }
}

/* The keys and values of the Memory in s->normed, for every block of the decoder. */
static void project_memory(TransformerSession *s) {
    const Model *m = s->model;
    int64_t count = s->offsets[s->base.sentences], dim = panelled(m->dim);
    if (!count || !m->decoder->cross_query.panels) return;
    prepare(s->normed, dim, count, m->dim, m->decoder->cross_projections.kind, &s->base.rows);
    for (int64_t layer = 0; layer < m->decoder_blocks; layer++) {
        const Block *block = m->decoder + layer;
        int64_t both = panelled(block->cross_projections.outputs);
        linear(&s->base.rows, dim, count, &block->cross_projections, s->memory[layer], 0);
        for (int64_t row = 0; row < count; row++)
            process(m, s->memory[layer] + row * both, m->kv_heads, block->cross_keys, -1);
    }
}

/* Reads the sources; leaves the Memory in s->normed. */
static void encode(TransformerSession *s, const int32_t *tokens, const int32_t *places) {
    const Model *m = s->model;
    int64_t count = s->offsets[s->base.sentences];
    embed(s, m->source_table, m->source_places, tokens, places, count);
    if (m->source_fraction) add_fractions(s);
    norm_rows(s, count, m->encoder_first);
    for (int64_t layer = 0; layer < m->encoder_blocks; layer++) {
        const Block *block = m->encoder + layer;
        apply(&s->base, s->normed, count, &block->projections, s->wide, 0);
        attend_to_source(s, layer, places);
        /* the projections are no longer needed: their room takes the output */
        apply(&s->base, s->found, count, &block->output, s->wide, 0);
        add_norm(s, s->wide, block->after_self, count);
        feed_forward(s, block, count);
    }
}

/* Self-attention of the decoder, from the projections in s->wide: writes keys and values of these rows
 * to their slots, and reads those of earlier positions. */
static void attend_to_past(TransformerSession *s, int64_t layer, int64_t rows, const int32_t *places,
                           const int32_t *slots, const int32_t *ancestors) {
    const Model *m = s->model;
    const Block *block = m->decoder + layer;
    int64_t width = panelled(block->projections.outputs), queries = query_width(m), found = panelled(found_width(m));
    int64_t keys = key_width(m), values = value_width(m), longest = s->base.longest;
    const float **key = s->at, **value = key + s->reach;
    Watched *watched = s->targets ? watched_of(s, DECODER, layer) : NULL;
    for (int64_t row = 0; row < rows; row++) {
        float *here = s->wide + row * width;
        int64_t place = slots[row] * longest + places[row];
        process(m, here, m->heads, block->queries, places[row]);
        process(m, here + queries, m->kv_heads, block->keys, places[row]);
        memcpy(s->key[layer] + place * keys, here + queries, sizeof(float) * keys);
        memcpy(s->value[layer] + place * values, here + queries + keys, sizeof(float) * values);
    }
    for (int64_t row = 0; row < rows; row++) {
        int64_t slot = slots[row], place = places[row];
        for (int64_t j = 0; j <= place; j++) {
            int64_t from = (ancestors && j < place ? ancestors[row * longest + j] : slot) * longest + j;
            key[j] = s->key[layer] + from * keys;
            value[j] = s->value[layer] + from * values;
        }
        int64_t length = watched ? s->targets[slot + 1] - s->targets[slot] : 0;
        Seen seen = {key, value, place + 1, place};
        attend_heads(s, s->wide + row * width, &seen, s->found + row * found, room_for(watched, place, length, length));
    }
}

/* Attention to the Memory, from the queries in s->wide. */
static void attend_to_memory(TransformerSession *s, int64_t layer, int64_t rows, const int32_t *places,
                             const int32_t *sentences) {
    const Model *m = s->model;
    const Block *block = m->decoder + layer;
    int64_t both = panelled(block->cross_projections.outputs), width = panelled(query_width(m));
    const float **key = s->at, **value = key + s->reach;
    Watched *watched = s->targets ? watched_of(s, CROSS, layer) : NULL;
    for (int64_t row = 0; row < rows; row++) {
        int64_t sentence = sentences[row], first = s->offsets[sentence], length = s->offsets[sentence + 1] - first;
        for (int64_t j = 0; j < length; j++) {
            key[j] = s->memory[layer] + (first + j) * both;
            value[j] = key[j] + key_width(m);
        }
        process(m, s->wide + row * width, m->heads, block->cross_queries, -1);
        int64_t queries = watched ? s->targets[sentence + 1] - s->targets[sentence] : 0;
        Seen seen = {key, value, length, -1};
        attend_heads(s, s->wide + row * width, &seen, s->found + row * panelled(found_width(m)),
                     room_for(watched, places[row], queries, length));
    }
}

/* Reads one token a row, at any positions; rows of one slot continue each other. As in Step, but for
 * places: the position of each row; layers: how many blocks are passed through. */
static void read_rows(TransformerSession *s, int64_t rows, const int32_t *tokens, const int32_t *places,
                      const int32_t *slots, const int32_t *ancestors, const int32_t *sentences, int64_t layers) {
    const Model *m = s->model;
    embed(s, m->target_table, m->target_places, tokens, places, rows);
    norm_rows(s, rows, m->decoder_first);
    for (int64_t layer = 0; layer < layers; layer++) {
        const Block *block = m->decoder + layer;
        apply(&s->base, s->normed, rows, &block->projections, s->wide, 0);
        attend_to_past(s, layer, rows, places, slots, ancestors);
        apply(&s->base, s->found, rows, &block->output, s->wide, 0);
        add_norm(s, s->wide, block->after_self, rows);
        if (block->cross_query.panels) {
            apply(&s->base, s->normed, rows, &block->cross_query, s->wide, 0);
            attend_to_memory(s, layer, rows, places, sentences);
            apply(&s->base, s->found, rows, &block->cross_output, s->wide, 0);
            add_norm(s, s->wide, block->after_cross, rows);
        }
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
