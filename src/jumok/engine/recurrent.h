/* Sequence to sequence with RNNs, or a decoder alone, on one thread: models/recurrent.py and
 * models/recurrent_decoder.py, which also say how the orders of a step differ.
 *
 * The encoder projects all inputs of a layer at once; only the product with the state is made step by
 * step, for all sentences that are long enough. What the decoder knows between two steps is one vector
 * a hypothesis: the states of its cells, then what it has shown, then what it has covered. A step reads
 * the vector of the hypothesis that it continues and writes into a second set of them, so that
 * hypotheses may change places: a vector is small beside the weights that a step reads.
 */
#pragma once

#include "cell.h"
#include "search.h"

/* What a step reads besides the word, and when it attends. Every width is filled up with zeros to a multiple
 * of 16 where the weights are packed, and stays zero in every vector. */
enum { FIRST_STATE, EVERY_STEP, BAHDANAU, LUONG, FEEDING, GNMT };
enum { PRODUCT, COSINE, ADDITIVE };

typedef struct {
    int64_t cell, dim, embedding, half; /* widths filled up to a multiple of 16; half: of one direction */
    int64_t true_dim, true_half, encoder_layers, directions, one_vector, from_last, decoder_layers, order, score;
    double embedding_scale, scale; /* scale: of products; of cosines what divides by the temperature */
    const float *source_table, *target_table; /* (vocabulary, embedding) */
    const Cell *encoder;                      /* (layers, directions); NULL: the Memory is given */
    const Cell *decoder;
    Linear first, query, key, gate, readout, output; /* without panels: there is none, but of output */
    const float *energy, *coverage;                  /* (dim), or NULL */
} Recurrent;

typedef struct {
    Session base;
    float *stream, *word, *joined, *seen, *query, *by_input, *by_state, *found, *score, *shown;
    float *memory, *states; /* of a request's sources: (positions, panelled(dim)), (sentences, states of a cell) */
    const float **from;     /* (rows): the vector that each row continues */
    float **to;             /* (rows): where its own goes */
    float **kept;           /* (rows): where its weights go */
    int32_t *wanted;        /* (rows): the token whose log-probability is wanted */
    int keeps;              /* whether weights go anywhere */
} RecurrentSession;

static inline int64_t cell_states(const Recurrent *m) { return m->decoder_layers * parts_of(m->cell) * m->dim; }
static inline int64_t covered_at(const Recurrent *m) { return cell_states(m) + (m->order == FEEDING ? m->embedding : 0); }

/* What is kept of a sentence: its Memory and the keys, both (positions, panelled(dim)), the Memory's mean or the
 * encoder's last states, the first
 * vector, and two sets of vectors of hypotheses, (beam, known). */
static inline int64_t positions_of(const Recurrent *m, const Sentence *x) {
    return m->one_vector && x->of->tokens ? 1 : x->source;
}
static inline int64_t known_of(const Recurrent *m, const Sentence *x) {
    return covered_at(m) + (m->coverage ? padded(x->source) : 0);
}
static inline int has_keys(const Recurrent *m) { return m->key.panels || m->score == COSINE; }
static inline float *keys_of_rnn(const Recurrent *m, const Sentence *x) {
    return x->own + (has_keys(m) ? positions_of(m, x) * panelled(m->dim) : 0);
}
static inline float *mean_of(const Recurrent *m, const Sentence *x) {
    return keys_of_rnn(m, x) + positions_of(m, x) * panelled(m->dim);
}
static inline float *first_of(const Recurrent *m, const Sentence *x) { return mean_of(m, x) + panelled(m->dim); }
static inline float *vectors_of(const Recurrent *m, const Sentence *x, int64_t position) {
    int64_t known = known_of(m, x);
    return first_of(m, x) + known + (position & 1) * x->of->rules->beam * known;
}
static int64_t keeps_of_recurrent(const Session *s, const Sentence *x) {
    return vectors_of(s->model, x, 1) + x->of->rules->beam * known_of(s->model, x) - x->own;
}

static inline const Recurrent *rnn_of(const RecurrentSession *s) { return s->base.model; }

static inline void look_up(const Recurrent *m, const float *table, int32_t token, float *to) {
    for (int64_t d = 0; d < m->embedding; d += LANES)
        store_f32(to + d, load_f32(table + token * m->embedding + d) * (float)m->embedding_scale);
}

/* One direction of a layer: what it knows at every position goes to `seen`, (tokens, panelled(dim)). */
static void read_one_way(RecurrentSession *s, const Request *r, const Cell *cell, int backwards, float *seen) {
    const Recurrent *m = rnn_of(s);
    int64_t dim = m->half, gates = panelled(cell->input.outputs), known = parts_of(m->cell) * dim;
    apply(&s->base, s->memory, r->offsets[r->count], &cell->input, s->by_input, 0);
    memset(s->states, 0, sizeof(float) * r->count * known);
    for (int64_t position = 0, rows = 1; rows; position++) {
        rows = 0;
        for (int64_t i = 0; i < r->count; i++)
            if (r->offsets[i + 1] - r->offsets[i] > position)
                memcpy(s->seen + rows++ * panelled(dim), s->states + i * known, sizeof(float) * dim);
        apply(&s->base, s->seen, rows, &cell->state, s->by_state, 0);
        for (int64_t i = 0, row = 0; i < r->count; i++) {
            int64_t length = r->offsets[i + 1] - r->offsets[i];
            if (length <= position) continue;
            int64_t place = r->offsets[i] + (backwards ? length - 1 - position : position);
            float *state = s->states + i * known;
            advance_cell(m->cell, dim, s->by_input + place * gates, s->by_state + row++ * gates, state, state);
            memcpy(seen + place * panelled(m->dim), state, sizeof(float) * m->true_half);
        }
    }
}

/* Zeros from the true width of (rows, panelled(dim)) on. */
static void clear_rest(const Recurrent *m, float *rows, int64_t count) {
    for (int64_t i = 0; i < count; i++, rows += panelled(m->dim))
        memset(rows + m->true_dim, 0, sizeof(float) * (m->dim - m->true_dim));
}

/* What was read last becomes what is read next. */
static void exchange(RecurrentSession *s) {
    float *read = s->memory;
    s->memory = s->stream, s->stream = read;
}

/* What both directions knew when they had read all of a sentence's `positions`, (positions, panelled(dim)). */
static void copy_last(const Recurrent *m, const float *memory, int64_t positions, float *to) {
    int64_t half = m->true_half;
    memcpy(to, memory + (positions - 1) * panelled(m->dim), sizeof(float) * half);
    if (m->directions == 2) memcpy(to + half, memory + half, sizeof(float) * half);
}

/* The last state of both directions becomes the only position of each sentence's Memory. */
static void keep_last(RecurrentSession *s, const Request *r) {
    const Recurrent *m = rnn_of(s);
    int64_t dim = panelled(m->dim);
    for (int64_t i = 0; i < r->count; i++)
        copy_last(m, s->memory + r->offsets[i] * dim, r->offsets[i + 1] - r->offsets[i], s->stream + i * dim);
    clear_rest(m, s->stream, r->count);
    exchange(s);
}

/* Reads the sources; leaves the Memory. */
static void read_with_rnn(RecurrentSession *s, const Request *r) {
    const Recurrent *m = rnn_of(s);
    int64_t count = r->offsets[r->count];
    for (int64_t i = 0; i < count; i++) look_up(m, m->source_table, r->tokens[i], s->memory + i * panelled(m->embedding));
    for (int64_t layer = 0; layer < m->encoder_layers; layer++) {
        clear_rest(m, s->stream, count);
        for (int64_t way = 0; way < m->directions; way++)
            read_one_way(s, r, m->encoder + layer * m->directions + way, way == 1, s->stream + way * m->true_half);
        exchange(s);
    }
    if (m->one_vector) keep_last(s, r);
}

/* A vector of length 1, times scale */
static void normalise(const float *x, float *y, int64_t dim, float scale) {
    floats sum = {};
    for (int64_t d = 0; d < dim; d += LANES) sum += load_f32(x + d) * load_f32(x + d);
    float length = sqrtf(total_of(sum));
    float factor = scale / (length < 1e-12f ? 1e-12f : length);
    for (int64_t d = 0; d < dim; d += LANES) store_f32(y + d, load_f32(x + d) * factor);
}

/* Keeps what the decoder needs of the Memory: with it the keys, its mean or last states, and the first vectors. */
static void begin_decoder(RecurrentSession *s, const Request *r) {
    const Recurrent *m = rnn_of(s);
    int64_t dim = panelled(m->dim), first = panelled(m->first.outputs), at = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < r->count; i++) count += positions_of(m, r->sentences[i]);
    if (m->key.panels) apply(&s->base, s->memory, count, &m->key, s->stream, 0);
    else if (m->score == COSINE)
        for (int64_t i = 0; i < count; i++) normalise(s->memory + i * dim, s->stream + i * dim, m->dim, 1.0f);
    for (int64_t i = 0; i < r->count; i++) {
        const Sentence *x = r->sentences[i];
        int64_t positions = positions_of(m, x);
        const float *memory = s->memory + at * dim;
        memcpy(x->own, memory, sizeof(float) * positions * dim);
        if (has_keys(m)) memcpy(keys_of_rnn(m, x), s->stream + at * dim, sizeof(float) * positions * dim);
        for (int64_t d = 0; d < m->dim; d += LANES) {
            floats sum = {};
            for (int64_t j = 0; j < positions; j++) sum += load_f32(memory + j * dim + d);
            store_f32(s->seen + i * dim + d, sum / (float)positions);
        }
        if (m->from_last) copy_last(m, memory, positions, s->seen + i * dim);
        memcpy(mean_of(m, x), s->seen + i * dim, sizeof(float) * m->dim);
        at += positions;
    }
    if (m->first.panels) apply(&s->base, s->seen, r->count, &m->first, s->by_input, 0);
    for (int64_t i = 0; i < r->count; i++) {
        float *to = first_of(m, r->sentences[i]);
        memset(to, 0, sizeof(float) * known_of(m, r->sentences[i]));
        if (!m->first.panels)
            for (int64_t part = 0; part < cell_states(m); part += m->dim)
                memcpy(to + part, mean_of(m, r->sentences[i]), sizeof(float) * m->dim);
        else for (int64_t d = 0; d < cell_states(m); d += LANES) store_f32(to + d, hyperbolic(load_f32(s->by_input + i * first + d)));
    }
}

static void encode_recurrent(Session *base, Request *r) {
    RecurrentSession *s = (RecurrentSession *)base;
    const Recurrent *m = base->model;
    int64_t count = r->offsets[r->count], dim = panelled(m->dim);
    if (r->tokens) read_with_rnn(s, r);
    else {
        for (int64_t i = 0; i < count; i++) memcpy(s->memory + i * dim, r->memory + i * m->true_dim, sizeof(float) * m->true_dim);
        clear_rest(m, s->memory, count);
    }
    begin_decoder(s, r);
}

/* The scores of one query and all positions of a sentence, before their scale. */
static void score_positions(const Recurrent *m, const float *query, const float *keys, int64_t count,
                            const float *covered, float *score) {
    for (int64_t j = 0; j < count; j++, keys += panelled(m->dim)) {
        floats sum = {};
        for (int64_t d = 0; d < m->dim; d += LANES) {
            floats key = load_f32(keys + d), asked = load_f32(query + d);
            if (m->coverage) key += covered[j] * load_f32(m->coverage + d);
            sum += m->score == ADDITIVE ? load_f32(m->energy + d) * hyperbolic(asked + key) : asked * key;
        }
        score[j] = total_of(sum);
    }
}

/* Attends from the states in s->seen; the context vectors go to s->found. */
static void look(RecurrentSession *s, int64_t rows, const Row *list) {
    const Recurrent *m = rnn_of(s);
    int64_t dim = panelled(m->dim), covers = covered_at(m);
    const float *query = s->seen;
    if (m->query.panels || m->score == COSINE) query = s->query;
    if (m->query.panels) apply(&s->base, s->seen, rows, &m->query, s->query, 0);
    for (int64_t row = 0; m->score == COSINE && row < rows; row++)
        normalise(s->seen + row * dim, s->query + row * dim, m->dim, (float)m->scale);
    float scale = m->score == PRODUCT ? (float)m->scale : 1.0f;
    for (int64_t row = 0; row < rows; row++) {
        const Sentence *x = list[row].of;
        int64_t count = positions_of(m, x);
        const float *memory = x->own, *covered = s->from[row] + covers;
        score_positions(m, query + row * dim, keys_of_rnn(m, x), count, covered, s->score);
        softmax(s->score, count, scale);
        for (int64_t d = 0; d < m->dim; d += LANES) {
            floats sum = {};
            for (int64_t j = 0; j < count; j++) sum += s->score[j] * load_f32(memory + j * dim + d);
            store_f32(s->found + row * dim + d, sum);
        }
        for (int64_t j = 0; m->coverage && j < count; j++) s->to[row][covers + j] = covered[j] + s->score[j];
        if (s->keeps) memcpy(s->kept[row], s->score, sizeof(float) * count);
    }
    if (!m->gate.panels) return;
    apply(&s->base, s->seen, rows, &m->gate, s->by_state, 0);
    for (int64_t row = 0; row < rows; row++) {
        floats share = sigmoid(spread(s->by_state[row * panelled(m->gate.outputs)]));
        for (int64_t d = row * dim; d < row * dim + m->dim; d += LANES) store_f32(s->found + d, load_f32(s->found + d) * share);
    }
}

/* Copies (rows, width) to where other columns may follow. */
static void copy_rows(const float *from, int64_t from_row, float *to, int64_t to_row, int64_t rows, int64_t width) {
    for (int64_t row = 0; row < rows; row++) memcpy(to + row * to_row, from + row * from_row, sizeof(float) * width);
}

/* Copies a part of the vector of each row, before or after this step. */
static void copy_known(const float *const *known, int64_t at, float *to, int64_t to_row, int64_t rows, int64_t width) {
    for (int64_t row = 0; row < rows; row++) memcpy(to + row * to_row, known[row] + at, sizeof(float) * width);
}

/* Puts s->joined through the cell of a layer; what it shows is left in s->seen. */
static void pass(RecurrentSession *s, int64_t layer, int64_t rows) {
    const Recurrent *m = rnn_of(s);
    const Cell *cell = m->decoder + layer;
    int64_t at = layer * parts_of(m->cell) * m->dim, gates = panelled(cell->input.outputs), dim = panelled(m->dim);
    apply(&s->base, s->joined, rows, &cell->input, s->by_input, 0);
    copy_known(s->from, at, s->seen, dim, rows, m->dim);
    apply(&s->base, s->seen, rows, &cell->state, s->by_state, 0);
    for (int64_t row = 0; row < rows; row++)
        advance_cell(m->cell, m->dim, s->by_input + row * gates, s->by_state + row * gates, s->from[row] + at, s->to[row] + at);
    copy_known((const float *const *)s->to, at, s->seen, dim, rows, m->dim);
}

/* The rows of s->joined become [left right], as the layer that reads them wants them. */
static void join(RecurrentSession *s, const Linear *reader, const float *left, int64_t left_width, const float *right,
                 int64_t right_width, int64_t rows) {
    int64_t row_width = panelled(reader->inputs);
    copy_rows(left, panelled(left_width), s->joined, row_width, rows, left_width);
    if (right) copy_rows(right, panelled(right_width), s->joined + left_width, row_width, rows, right_width);
}

static void recurrent_step(Session *base, int64_t rows, const Row *list) {
    RecurrentSession *s = (RecurrentSession *)base;
    const Recurrent *m = base->model;
    int64_t dim = panelled(m->dim), top = (m->decoder_layers - 1) * parts_of(m->cell) * m->dim;
    for (int64_t row = 0; row < rows; row++) {
        const Row *at = list + row;
        int64_t known = known_of(m, at->of), parent = at->ancestors && at->place ? at->ancestors[at->place - 1] : at->slot;
        s->from[row] = at->place ? vectors_of(m, at->of, at->place - 1) + parent * known : first_of(m, at->of);
        s->to[row] = vectors_of(m, at->of, at->place) + at->slot * known;
        look_up(m, m->target_table, at->token, s->word + row * panelled(m->embedding));
    }
    const float *beside = NULL; /* what the lowest cell reads besides the word */
    if (m->order == EVERY_STEP)
        for (int64_t row = 0; row < rows; row++)
            memcpy(s->found + row * dim, mean_of(m, list[row].of), sizeof(float) * m->dim);
    if (m->order == BAHDANAU) {
        copy_known(s->from, top, s->seen, dim, rows, m->dim);
        look(s, rows, list);
    }
    if (m->order == EVERY_STEP || m->order == BAHDANAU) beside = s->found;
    if (m->order == FEEDING) {
        copy_known(s->from, cell_states(m), s->shown, panelled(m->embedding), rows, m->embedding);
        beside = s->shown;
    }
    join(s, &m->decoder->input, s->word, m->embedding, beside, m->order == FEEDING ? m->embedding : m->dim, rows);
    pass(s, 0, rows);
    if (m->order == GNMT) look(s, rows, list);
    for (int64_t layer = 1; layer < m->decoder_layers; layer++) {
        join(s, &m->decoder[layer].input, s->seen, m->dim, m->order == GNMT ? s->found : NULL, m->dim, rows);
        pass(s, layer, rows);
    }
    if (m->order == LUONG || m->order == FEEDING) look(s, rows, list);

    if (!m->readout.panels) { /* states are as wide as words */
        copy_rows(s->seen, dim, s->shown, dim, rows, m->dim);
        return;
    }
    join(s, &m->readout, s->seen, m->dim, m->order == FIRST_STATE ? NULL : s->found, m->dim, rows);
    if (m->order == EVERY_STEP || m->order == BAHDANAU)
        copy_rows(s->word, panelled(m->embedding), s->joined + 2 * m->dim, panelled(m->readout.inputs), rows, m->embedding);
    apply(base, s->joined, rows, &m->readout, s->shown, 0);
    for (int64_t row = 0; row < rows; row++) {
        float *shown = s->shown + row * panelled(m->embedding);
        for (int64_t d = 0; d < m->embedding; d += LANES) store_f32(shown + d, hyperbolic(load_f32(shown + d)));
        if (m->order == FEEDING) memcpy(s->to[row] + cell_states(m), shown, sizeof(float) * m->embedding);
    }
}

/* Reads given targets step by step, all sentences together: see Family. */
static void force_recurrent(Session *base, const Request *r, const int32_t *tokens, const int32_t *following,
                            const int64_t *offsets, int64_t layers, float *values) {
    RecurrentSession *s = (RecurrentSession *)base;
    (void)layers; /* all are needed */
    s->keeps = r->watched_count > 0;
    for (int64_t position = 0, rows = 1; rows; position++) {
        float *kept = s->keeps ? r->watched->weights : NULL;
        rows = 0;
        for (int64_t i = 0; i < r->count; i++) {
            Sentence *x = r->sentences[i];
            int64_t length = offsets[i + 1] - offsets[i];
            if (position < length) {
                if (kept) s->kept[rows] = kept + position * x->source;
                s->wanted[rows] = following[offsets[i] + position];
                base->list[rows++] = (Row){x, tokens[offsets[i] + position], (int32_t)position, 0, NULL};
            }
            if (kept) kept += length * x->source;
        }
        recurrent_step(base, rows, base->list);
        if (!values) continue;
        score_tokens(base, rows, s->wanted, base->values);
        for (int64_t i = 0, row = 0; i < r->count; i++)
            if (position < offsets[i + 1] - offsets[i]) values[offsets[i] + position] = base->values[row++];
    }
    s->keeps = 0;
}

/* The most inputs of any linear layer that reads rows of sources or of hypotheses, filled up to panels. */
static int64_t widest_input(const Recurrent *m) {
    int64_t most = m->dim > m->embedding ? m->dim : m->embedding;
    if (m->readout.inputs > most) most = m->readout.inputs;
    for (int64_t layer = 0; layer < m->decoder_layers; layer++)
        if (m->decoder[layer].input.inputs > most) most = m->decoder[layer].input.inputs;
    return panelled(most);
}

static void lay_out_recurrent(Session *base) {
    RecurrentSession *s = (RecurrentSession *)base;
    const Recurrent *m = base->model;
    int64_t rows = base->rows, dim = panelled(m->dim), word = panelled(m->embedding), input = widest_input(m);
    int64_t gates = panelled(m->decoder->input.outputs), first = panelled(m->first.outputs), wide = dim > word ? dim : word;
    lay_out_common(base, input);
    s->memory = take_floats(base, rows * wide), s->stream = take_floats(base, rows * wide);
    s->states = take_floats(base, rows * parts_of(m->cell) * m->half), s->score = take_floats(base, padded(base->reach));
    s->word = take_floats(base, rows * word), base->shown = s->shown = take_floats(base, rows * word);
    s->joined = take_floats(base, rows * input), s->seen = take_floats(base, rows * dim);
    s->query = take_floats(base, rows * dim), s->found = take_floats(base, rows * dim);
    s->by_input = take_floats(base, rows * (gates > first ? gates : first)), s->by_state = take_floats(base, rows * gates);
    s->from = take(base, sizeof(float *) * rows), s->to = take(base, sizeof(float *) * rows);
    s->kept = take(base, sizeof(float *) * rows), s->wanted = take(base, sizeof(int32_t) * rows);
}
