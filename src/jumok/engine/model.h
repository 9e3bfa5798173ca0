/* A whole Transformer on one thread: encoder and decoder, or a decoder alone (a language model).
 *
 * The encoder reads all sentences of a batch as one list of tokens, without padding. A pass of the
 * decoder reads one token a row through every block in one call; the keys and values of a row stay
 * where they were written, in its slot, and a hypothesis that continues another one reads them there
 * (its ancestors), so nothing is copied or gathered.
 */
#pragma once

#include "heads.h"

static inline void embed(const Model *m, const float *table, const float *of_place, int32_t token, int64_t place, float *to) {
    for (int64_t d = 0; d < m->dim; d += LANES) {
        floats word = load_f32(table + token * m->dim + d);
        if (of_place) word += load_f32(of_place + place * m->dim + d);
        store_f32(to + d, word);
    }
}

/* Adds to a source token's vector the fraction of the sentence that comes before it. */
static inline void add_fraction(const Model *m, int64_t place, int64_t length, float *stream) {
    float fraction = (float)place / (float)(length > 1 ? length - 1 : 1);
    for (int64_t d = 0; d < m->dim; d += LANES)
        store_f32(stream + d, load_f32(stream + d) + fraction * load_f32(m->source_fraction + d));
}

/* Self-attention of the encoder, from the projections in s->wide. */
static void attend_to_source(TransformerSession *s, const Request *r, int64_t layer) {
    const Model *m = model_of(s);
    const Block *block = m->encoder + layer;
    int64_t width = panelled(block->projections.outputs), queries = query_width(m), found = panelled(found_width(m));
    const float **key = s->at, **value = key + s->base.reach;
    Watched *watched = watched_of(r, ENCODER, layer);
    for (int64_t sentence = 0; sentence < r->count; sentence++) {
        int64_t first = r->offsets[sentence], length = r->offsets[sentence + 1] - first;
        for (int64_t j = 0; j < length; j++) {
            float *here = s->wide + (first + j) * width;
            process(m, here, m->heads, block->queries, j);
            process(m, here + queries, m->kv_heads, block->keys, j);
            key[j] = here + queries;
            value[j] = key[j] + key_width(m);
        }
        for (int64_t i = 0; i < length; i++) {
            Seen seen = nearest((Seen){key, value, length, i, 0, m->source_biases}, block->window);
            attend_heads(s, s->wide + (first + i) * width, &seen, s->found + (first + i) * found,
                         room_for(watched, i, length, length));
        }
    }
}

/* Keeps the keys and values of the Memory in s->normed, for every block of the decoder. */
static void project_memory(TransformerSession *s, const Request *r) {
    const Model *m = model_of(s);
    int64_t count = r->offsets[r->count], dim = panelled(m->dim), both = both_widths(m);
    if (!count || !m->decoder_blocks || !m->decoder->cross_query.panels) return;
    prepare(s->normed, dim, count, m->dim, m->decoder->cross_projections.kind, &s->base.prepared);
    for (int64_t layer = 0; layer < m->decoder_blocks; layer++) {
        const Block *block = m->decoder + layer;
        linear(&s->base.prepared, dim, count, &block->cross_projections, s->wide, 0);
        for (int64_t row = 0; row < count; row++) process(m, s->wide + row * both, m->kv_heads, block->cross_keys, -1);
        for (int64_t i = 0; i < r->count; i++) {
            const Sentence *x = r->sentences[i];
            memcpy(memory_of(m, x, layer), s->wide + r->offsets[i] * both, sizeof(float) * x->source * both);
        }
    }
}

/* Reads the sources, which leaves their Memory in s->normed. */
static void read_sources(TransformerSession *s, const Request *r) {
    const Model *m = model_of(s);
    int64_t count = r->offsets[r->count], dim = panelled(m->dim);
    for (int64_t i = 0; i < r->count; i++) {
        int64_t first = r->offsets[i], length = r->offsets[i + 1] - first;
        for (int64_t j = 0; j < length; j++) {
            float *to = s->stream + (first + j) * dim;
            embed(m, m->source_table, m->source_places, r->tokens[first + j], j, to);
            if (m->source_fraction) add_fraction(m, j, length, to);
            if (m->source_norm.gain) norm_row(m, to, to, m->source_norm);
        }
    }
    norm_rows(s, count, m->encoder_first);
    for (int64_t layer = 0; layer < m->encoder_blocks; layer++) {
        const Block *block = m->encoder + layer;
        apply(&s->base, s->normed, count, &block->projections, s->wide, 0);
        attend_to_source(s, r, layer);
        /* the projections are no longer needed: their room takes the output */
        apply(&s->base, s->found, count, &block->output, s->wide, 0);
        add_norm(s, s->wide, block->after_self, count);
        feed_forward(s, block, count);
    }
}

static void encode(Session *base, Request *r) {
    TransformerSession *s = (TransformerSession *)base;
    const Model *m = base->model;
    int64_t dim = panelled(m->dim);
    if (r->tokens) read_sources(s, r);
    for (int64_t i = 0; r->memory && i < r->offsets[r->count]; i++) {
        float *to = memset(s->normed + i * dim, 0, sizeof(float) * dim);
        memcpy(to, r->memory + i * m->true_dim, sizeof(float) * m->true_dim);
    }
    project_memory(s, r);
}

/* Self-attention of the decoder, from the projections in s->wide: writes keys and values of these rows
 * to their slots, and reads those of earlier positions. */
static void attend_to_past(TransformerSession *s, int64_t layer, int64_t rows, const Row *list) {
    const Model *m = model_of(s);
    const Block *block = m->decoder + layer;
    int64_t width = panelled(block->projections.outputs), queries = query_width(m), found = panelled(found_width(m));
    int64_t keys = key_width(m), values = value_width(m);
    const float **key = s->at, **value = key + s->base.reach;
    Watched *watched = s->forced ? watched_of(s->forced, DECODER, layer) : NULL;
    for (int64_t row = 0; row < rows; row++) {
        const Row *at = list + row;
        float *here = s->wide + row * width;
        int64_t place = at->slot * at->of->longest + at->place;
        process(m, here, m->heads, block->queries, at->place);
        process(m, here + queries, m->kv_heads, block->keys, at->place);
        memcpy(keys_of(m, at->of, layer) + place * keys, here + queries, sizeof(float) * keys);
        memcpy(values_of(m, at->of, layer) + place * values, here + queries + keys, sizeof(float) * values);
    }
    for (int64_t row = 0; row < rows; row++) {
        const Row *at = list + row;
        const float *all_keys = keys_of(m, at->of, layer), *all_values = values_of(m, at->of, layer);
        for (int64_t j = 0; j <= at->place; j++) {
            int64_t from = (at->ancestors && j < at->place ? at->ancestors[j] : at->slot) * at->of->longest + j;
            key[j] = all_keys + from * keys;
            value[j] = all_values + from * values;
        }
        Seen seen = nearest((Seen){key, value, at->place + 1, at->place, 0, m->target_biases}, block->window);
        attend_heads(s, s->wide + row * width, &seen, s->found + row * found,
                     room_for(watched, at->place, at->of->given, at->of->given));
    }
}

/* c = f c' + (1 - f) x, shown where it is positive; f and x are in s->wide. c', the state at the position before,
 * is in the slot of that position, and c stays in that of this one. */
static void advance_states(TransformerSession *s, int64_t layer, int64_t rows, const Row *list) {
    const Model *m = model_of(s);
    int64_t width = panelled(m->decoder[layer].projections.outputs), dim = panelled(m->dim);
    for (int64_t row = 0; row < rows; row++) {
        const Row *at = list + row;
        int64_t slot = at->ancestors && at->place ? at->ancestors[at->place - 1] : at->slot;
        float *states = keys_of(m, at->of, layer), *to = states + (at->slot * at->of->longest + at->place) * m->dim;
        const float *from = states + (slot * at->of->longest + at->place - 1) * m->dim, *forget = s->wide + row * width;
        for (int64_t d = 0; d < m->dim; d += LANES) {
            floats given = load_f32(forget + m->dim + d), before = at->place ? load_f32(from + d) : spread(0.0f);
            floats state = given + sigmoid(load_f32(forget + d)) * (before - given);
            store_f32(to + d, state);
            store_f32(s->found + row * dim + d, larger(spread(0.0f), state));
        }
    }
}

/* Attention to the Memory, from the queries in s->wide. */
static void attend_to_memory(TransformerSession *s, int64_t layer, int64_t rows, const Row *list) {
    const Model *m = model_of(s);
    const Block *block = m->decoder + layer;
    int64_t both = both_widths(m), width = panelled(query_width(m));
    const float **key = s->at, **value = key + s->base.reach;
    Watched *watched = s->forced ? watched_of(s->forced, CROSS, layer) : NULL;
    for (int64_t row = 0; row < rows; row++) {
        const Sentence *x = list[row].of;
        const float *memory = memory_of(m, x, layer);
        for (int64_t j = 0; j < x->source; j++) {
            key[j] = memory + j * both;
            value[j] = key[j] + key_width(m);
        }
        process(m, s->wide + row * width, m->heads, block->cross_queries, -1);
        Seen seen = {key, value, x->source, -1, 0, NULL};
        attend_heads(s, s->wide + row * width, &seen, s->found + row * panelled(found_width(m)),
                     room_for(watched, list[row].place, x->given, x->source));
    }
}

/* Reads one token a row, at any positions; rows of one slot continue each other. layers: how many blocks are
 * passed through. */
static void read_rows(TransformerSession *s, int64_t rows, const Row *list, int64_t layers) {
    const Model *m = model_of(s);
    for (int64_t row = 0; row < rows; row++) {
        float *to = s->stream + row * panelled(m->dim);
        embed(m, m->target_table, m->target_places, list[row].token, list[row].place, to);
        if (m->target_norm.gain) norm_row(m, to, to, m->target_norm);
    }
    norm_rows(s, rows, m->decoder_first);
    for (int64_t layer = 0; layer < layers; layer++) {
        const Block *block = m->decoder + layer;
        apply(&s->base, s->normed, rows, &block->projections, s->wide, 0);
        if (block->recurrent) {
            advance_states(s, layer, rows, list);
        } else {
            attend_to_past(s, layer, rows, list);
            apply(&s->base, s->found, rows, &block->output, s->wide, 0);
        }
        (m->parallel ? add_beside : add_norm)(s, block->recurrent ? s->found : s->wide,
                                              block->after_self, rows);
        if (block->cross_query.panels) {
            apply(&s->base, s->normed, rows, &block->cross_query, s->wide, 0);
            attend_to_memory(s, layer, rows, list);
            apply(&s->base, s->found, rows, &block->cross_output, s->wide, 0);
            add_norm(s, s->wide, block->after_cross, rows);
        }
        feed_forward(s, block, rows);
    }
}

static void step(Session *base, int64_t rows, const Row *list) {
    read_rows((TransformerSession *)base, rows, list, ((const Model *)base->model)->decoder_blocks);
}

static void lay_out_transformer(Session *base) {
    TransformerSession *s = (TransformerSession *)base;
    const Model *m = base->model;
    int64_t rows = base->rows, dim = panelled(m->dim), heads = panelled(found_width(m)), found = heads > dim ? heads : dim;
    int64_t widths[] = {query_width(m) + key_width(m) + value_width(m), (m->gated ? 2 : 1) * m->hidden, 2 * m->dim}, width = 0;
    for (int i = 0; i < 3; i++)
        if (panelled(widths[i]) > width) width = panelled(widths[i]);
    lay_out_common(base, width);
    s->stream = take_floats(base, rows * dim), base->shown = s->normed = take_floats(base, rows * dim);
    s->wide = take_floats(base, rows * width), s->found = take_floats(base, rows * found);
    s->score = take_floats(base, padded(base->reach)), s->at = take(base, sizeof(float *) * 2 * base->reach);
}
