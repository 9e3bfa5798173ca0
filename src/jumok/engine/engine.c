/* The engine's functions: a session for a batch of sentences, and what is done with it. */

#include "beam.h"
#include "forced.h"
#include "recurrent.h"

/* A session of any model. */
void jumok_end(Session *s) {
    s->end(s);
    void *common[] = {s->logits, s->divisor, s->rows.halves_, s->rows.scale, s};
    for (unsigned i = 0; i < sizeof common / sizeof *common; i++) free(common[i]);
}

static void end_transformer(Session *base) {
    TransformerSession *s = (TransformerSession *)base;
    for (int64_t layer = 0; s->memory && layer < s->model->decoder_blocks; layer++)
        free(s->memory[layer]), free(s->key[layer]), free(s->value[layer]);
    void *own[] = {s->offsets, s->stream, s->normed, s->wide, s->found, s->score, s->places, s->at, s->memory};
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
}

/* tokens and places, or the Memory (positions, dim), of all sentences, one after the other: `offsets` says where
 * each begins, and how many there are at the end. `longest`: positions of the target, END counted; watched: the
 * attentions whose weights are kept. NULL: there is not enough memory. */
Session *jumok_begin(const Model *m, int64_t sentences, const int32_t *tokens, const int32_t *places,
                     const float *memory, const int64_t *offsets, int64_t beam, int64_t longest, Watched *watched,
                     int64_t watched_count) {
    TransformerSession *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    Session *base = &s->base;
    int64_t count = offsets[sentences], slots = sentences * beam, most = longest;
    int64_t rows = count > slots ? count : slots;
    int64_t dim = panelled(m->dim), heads = panelled(found_width(m)), found = heads > dim ? heads : dim;
    int64_t widths[] = {query_width(m) + key_width(m) + value_width(m), (m->gated ? 2 : 1) * m->hidden, m->dim}, width = 0;
    for (int i = 0; i < 3; i++)
        if (panelled(widths[i]) > width) width = panelled(widths[i]);
    for (int64_t i = 0; i < sentences; i++)
        if (offsets[i + 1] - offsets[i] > most) most = offsets[i + 1] - offsets[i];
    if (longest > rows) rows = longest; /* of a given target */
    *base = (Session){.sentences = sentences, .slots = slots, .longest = longest, .output = &m->output,
                      .step = step, .force = force, .end = end_transformer};
    make_room(base, rows, width);
    s->model = m, s->most = rows, s->watched = watched, s->watched_count = watched_count;
    s->offsets = room(base, sizeof(int64_t) * (sentences + 1));
    if (s->offsets) memcpy(s->offsets, offsets, sizeof(int64_t) * (sentences + 1));
    s->stream = room(base, sizeof(float) * rows * dim), base->shown = s->normed = room(base, sizeof(float) * rows * dim);
    s->wide = room(base, sizeof(float) * rows * width), s->found = room(base, sizeof(float) * rows * found);
    s->score = room(base, sizeof(float) * padded(most)), s->places = room(base, sizeof(int32_t) * 2 * rows);
    if (s->places) s->first_slot = memset(s->places + rows, 0, sizeof(int32_t) * rows);
    s->reach = most + 1, s->at = room(base, sizeof(float *) * 2 * s->reach);
    if (!(s->memory = calloc(3 * m->decoder_blocks + 1, sizeof(float *)))) base->failed = 1;
    s->key = s->memory + m->decoder_blocks, s->value = s->key + m->decoder_blocks;
    for (int64_t layer = 0; !base->failed && layer < m->decoder_blocks; layer++) {
        s->memory[layer] = room(base, sizeof(float) * count * panelled(key_width(m) + value_width(m)));
        s->key[layer] = room(base, sizeof(float) * slots * longest * key_width(m));
        s->value[layer] = room(base, sizeof(float) * slots * longest * value_width(m));
    }
    if (base->failed) {
        jumok_end(base);
        return NULL;
    }
    if (tokens) encode(s, tokens, places);
    for (int64_t i = 0; memory && i < count; i++) {
        float *to = memset(s->normed + i * dim, 0, sizeof(float) * dim);
        memcpy(to, memory + i * m->true_dim, sizeof(float) * m->true_dim);
    }
    project_memory(s);
    return base;
}

/* See begin_recurrent. */
Session *jumok_begin_recurrent(const Recurrent *m, int64_t sentences, const int32_t *tokens, const float *memory,
                               const int64_t *offsets, int64_t beam, int64_t longest, Watched *watched) {
    return begin_recurrent(m, sentences, tokens, memory, offsets, beam, longest, watched);
}

int64_t jumok_greedy(Session *s, const Limits *limits, Best *best) { return greedy(s, limits, best); }

int64_t jumok_beam(Session *s, const Limits *limits, int64_t beam, Best *best) {
    return beam_search(s, limits, beam, best);
}

/* Given targets: see Force. */
int64_t jumok_force(Session *s, const int32_t *tokens, const int32_t *following, const int64_t *offsets,
                    int64_t layers, float *values) {
    return s->force(s, tokens, following, offsets, layers, values);
}

/* Reads `count` tokens of a text from `position` on, in one pass. logits: those after the last of them. */
void jumok_read(Session *base, int64_t count, const int32_t *tokens, int64_t position, float *logits) {
    TransformerSession *s = (TransformerSession *)base;
    const Linear *output = base->output;
    for (int64_t row = 0; row < count; row++) s->places[row] = (int32_t)(position + row);
    read_rows(s, count, tokens, s->places, s->first_slot, NULL, s->first_slot, s->model->decoder_blocks);
    begin_logits(base, base->shown + (count - 1) * panelled(output->inputs), 1);
    for (int64_t first = 0; first < output->outputs; first += TILE) {
        int64_t left = output->outputs - first;
        next_logits(base, 1, first);
        memcpy(logits + first, base->logits, sizeof(float) * (left < TILE ? left : TILE));
    }
}
