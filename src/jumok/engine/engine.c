/* The engine's functions: a session for a batch of sentences, and what is done with it. */

#include "beam.h"
#include "forced.h"

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

/* `offsets` has sentences + 1 entries; `longest`: positions of the target, END counted; watched: the
 * attentions whose weights are kept. NULL: there is not enough memory. */
Session *jumok_begin(const Model *m, int64_t sentences, const int32_t *tokens, const int32_t *places,
                     const int64_t *offsets, int64_t beam, int64_t longest, Watched *watched, int64_t watched_count) {
    TransformerSession *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    Session *base = &s->base;
    int64_t count = offsets[sentences], slots = sentences * beam, most = longest;
    int64_t rows = count > slots ? count : slots;
    int64_t width = panelled(2 * key_width(m) + value_width(m)), hidden = panelled(m->hidden), dim = panelled(m->dim);
    int64_t found = panelled(value_width(m)) > dim ? panelled(value_width(m)) : dim;
    for (int64_t i = 0; i < sentences; i++)
        if (offsets[i + 1] - offsets[i] > most) most = offsets[i + 1] - offsets[i];
    if (longest > rows) rows = longest; /* of a given target */
    if (hidden > width) width = hidden;
    if (dim > width) width = dim;
    *base = (Session){.sentences = sentences, .slots = slots, .longest = longest, .output = &m->output,
                      .step = step, .end = end_transformer};
    make_room(base, rows, width);
    s->model = m, s->most = rows, s->watched = watched, s->watched_count = watched_count;
    s->offsets = room(base, sizeof(int64_t) * (sentences + 1));
    if (s->offsets) memcpy(s->offsets, offsets, sizeof(int64_t) * (sentences + 1));
    s->stream = room(base, sizeof(float) * rows * dim), base->shown = s->normed = room(base, sizeof(float) * rows * dim);
    s->wide = room(base, sizeof(float) * rows * width), s->found = room(base, sizeof(float) * rows * found);
    s->score = room(base, sizeof(float) * padded(most)), s->places = room(base, sizeof(int32_t) * slots);
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
    encode(s, tokens, places);
    return base;
}

int64_t jumok_greedy(Session *s, const Limits *limits, Best *best) { return greedy(s, limits, best); }

int64_t jumok_beam(Session *s, const Limits *limits, int64_t beam, Best *best) {
    return beam_search(s, limits, beam, best);
}

/* Given targets: see force. */
int64_t jumok_force(Session *s, const int32_t *tokens, const int32_t *following, const int64_t *offsets,
                    int64_t layers, float *values) {
    return force((TransformerSession *)s, tokens, following, offsets, layers, values);
}
