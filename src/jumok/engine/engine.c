/* The engine's functions: a session for a batch of sentences, and what is done with it. */

#include "beam.h"

static void *room(Session *s, int64_t bytes) {
    void *found = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!found) s->failed = 1;
    return found;
}

void jumok_end(Session *s) {
    for (int64_t layer = 0; s->memory && layer < s->model->decoder_blocks; layer++)
        free(s->memory[layer]), free(s->key[layer]), free(s->value[layer]);
    void *all[] = {s->offsets, s->stream, s->normed, s->wide, s->found, s->score, s->logits, s->divisor, s->places,
                   s->at, s->rows.halves_, s->rows.scale, s->memory, s};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* `offsets` has sentences + 1 entries; `longest`: positions of the target, END counted. NULL: there is not
 * enough memory. */
Session *jumok_begin(const Model *m, int64_t sentences, const int32_t *tokens, const int32_t *places,
                     const int64_t *offsets, int64_t beam, int64_t longest) {
    Session *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    int64_t count = offsets[sentences], slots = sentences * beam, rows = count > slots ? count : slots, most = longest;
    int64_t width = panelled(2 * key_width(m) + value_width(m)), hidden = panelled(m->hidden), dim = panelled(m->dim);
    int64_t found = panelled(value_width(m)) > dim ? panelled(value_width(m)) : dim;
    for (int64_t i = 0; i < sentences; i++)
        if (offsets[i + 1] - offsets[i] > most) most = offsets[i + 1] - offsets[i];
    if (hidden > width) width = hidden;
    if (dim > width) width = dim;
    s->model = m, s->sentences = sentences, s->slots = slots, s->longest = longest;
    s->offsets = room(s, sizeof(int64_t) * (sentences + 1));
    if (s->offsets) memcpy(s->offsets, offsets, sizeof(int64_t) * (sentences + 1));
    s->stream = room(s, sizeof(float) * rows * dim), s->normed = room(s, sizeof(float) * rows * dim);
    s->wide = room(s, sizeof(float) * rows * width), s->found = room(s, sizeof(float) * rows * found);
    s->score = room(s, sizeof(float) * padded(most));
    s->rows.halves_ = room(s, sizeof(uint16_t) * rows * width), s->rows.bytes_ = (uint8_t *)s->rows.halves_;
    s->rows.scale = room(s, sizeof(float) * rows);
    s->reach = most + 1, s->at = room(s, sizeof(float *) * 2 * s->reach), s->places = room(s, sizeof(int32_t) * slots);
    s->logits = room(s, sizeof(float) * slots * TILE), s->divisor = room(s, sizeof(Divisor) * slots);
    if (!(s->memory = calloc(3 * m->decoder_blocks + 1, sizeof(float *)))) s->failed = 1;
    if (s->failed) {
        jumok_end(s);
        return NULL;
    }
    s->key = s->memory + m->decoder_blocks, s->value = s->key + m->decoder_blocks;
    for (int64_t layer = 0; layer < m->decoder_blocks; layer++) {
        s->memory[layer] = room(s, sizeof(float) * count * panelled(key_width(m) + value_width(m)));
        s->key[layer] = room(s, sizeof(float) * slots * longest * key_width(m));
        s->value[layer] = room(s, sizeof(float) * slots * longest * value_width(m));
    }
    if (s->failed) {
        jumok_end(s);
        return NULL;
    }
    encode(s, tokens, places);
    return s;
}

int64_t jumok_greedy(Session *s, const Limits *limits, Best *best) { return greedy(s, limits, best); }

int64_t jumok_beam(Session *s, const Limits *limits, int64_t beam, Best *best) {
    return beam_search(s, limits, beam, best);
}
