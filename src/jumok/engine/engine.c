/* The engine's functions: sessions to compute in, requests of sentences, and what is done with them. */

#include "beam.h"
#include "forced.h"
#include "recurrent.h"

static const Family TRANSFORMER = {lay_out_transformer, encode, keeps_of, step, force};
static const Family RECURRENT = {lay_out_recurrent, encode_recurrent, keeps_of_recurrent, recurrent_step, force_recurrent};

static Session *begin(const Family *family, const void *model, const Linear *output, size_t size) {
    Session *s = calloc(1, size);
    if (s) s->family = family, s->model = model, s->output = output;
    return s;
}

/* A session for one thread; NULL: memory is lacking. */
Session *jumok_begin(const Model *m) { return begin(&TRANSFORMER, m, &m->output, sizeof(TransformerSession)); }

Session *jumok_begin_recurrent(const Recurrent *m) {
    return begin(&RECURRENT, m, &m->output, sizeof(RecurrentSession));
}

void jumok_end(Session *s) {
    free(s->room);
    free(s);
}

/* Frees what is known of a request's sentences. */
void jumok_release(Request *r) { release(r); }

/* Reads the sources of a request. Returns 0, or 1 where memory is lacking. */
int64_t jumok_encode(Session *s, Request *r) {
    int64_t rows = r->offsets[r->count], reach = 1;
    r->searched = r->count;
    for (int64_t i = 0; i < r->count; i++) {
        if (!(r->sentences[i] = new_sentence(s, r, i))) return release(r), 1;
        reach = reach_of(reach, r->sentences[i]);
    }
    if (!make_room(s, rows > r->count ? rows : r->count, reach, 1)) return release(r), 1;
    s->family->encode(s, r);
    return 0;
}

/* Reads the sources of a request of a Transformer. states: what its encoder writes, (positions, dim), of which
 * nothing else is kept. Returns 0, or 1 where memory is lacking. */
int64_t jumok_states(Session *s, Request *r, float *states) {
    const Model *m = s->model;
    if (jumok_encode(s, r)) return 1;
    for (int64_t i = 0; i < r->offsets[r->count]; i++)
        memcpy(states + i * m->true_dim, s->shown + i * panelled(m->dim), sizeof(float) * m->true_dim);
    return release(r), 0;
}

/* See `search`. */
int64_t jumok_search(Session *s, Request *const *requests, int64_t count, const volatile int32_t *stop) {
    return search(s, requests, count, stop);
}

/* Given targets: see Family. Returns 0, or 1 where memory is lacking. */
int64_t jumok_force(Session *s, const Request *r, const int32_t *tokens, const int32_t *following,
                    const int64_t *offsets, int64_t layers, float *values) {
    int64_t rows = r->count, reach = 1;
    for (int64_t i = 0; i < r->count; i++) {
        if (offsets[i + 1] - offsets[i] > rows) rows = offsets[i + 1] - offsets[i];
        reach = reach_of(reach, r->sentences[i]);
    }
    if (!make_room(s, rows, reach, 1)) return 1;
    s->family->force(s, r, tokens, following, offsets, layers, values);
    return 0;
}

/* Reads `count` tokens of a text, the only sentence of a request, from `position` on, in one pass. values: the
 * log-probabilities of all tokens after the last of them. Returns 0, or 1 where memory is lacking. */
int64_t jumok_read(Session *s, const Request *r, int64_t count, const int32_t *tokens, int64_t position, float *values) {
    Sentence *x = r->sentences[0];
    if (!make_room(s, count, reach_of(1, x), 1)) return 1;
    for (int64_t i = 0; i < count; i++) s->list[i] = (Row){x, tokens[i], (int32_t)(position + i), 0, NULL};
    s->family->step(s, count, s->list);
    log_probabilities(s, s->shown + (count - 1) * panelled(s->output->inputs), 1, values);
    return 0;
}

/* Reads one token a row, of any sentences. values: the log-probabilities of all tokens after each, (rows,
 * vocabulary). Returns 0, or 1 where memory is lacking. */
int64_t jumok_step(Session *s, int64_t rows, const Row *list, float *values) {
    int64_t reach = 1;
    for (int64_t i = 0; i < rows; i++) reach = reach_of(reach, list[i].of);
    if (!make_room(s, rows, reach, 1)) return 1;
    s->family->step(s, rows, list);
    log_probabilities(s, s->shown, rows, values);
    return 0;
}
