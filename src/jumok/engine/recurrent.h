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
    int64_t true_dim, true_half, encoder_layers, directions, one_vector, decoder_layers, order, score;
    double embedding_scale, scale; /* scale: of products; of cosines what divides by the temperature */
    const float *source_table, *target_table; /* (vocabulary, embedding) */
    const Cell *encoder;                      /* (layers, directions); NULL: the Memory is given */
    const Cell *decoder;
    Linear first, query, key, gate, readout, output; /* query, key and gate without panels: there are none */
    const float *energy, *coverage;                  /* (dim), or NULL */
} Recurrent;

typedef struct {
    Session base;
    const Recurrent *model;
    int64_t *offsets;           /* of each sentence's positions in the Memory, and their number at the end */
    int64_t known;              /* the width of the vector of a hypothesis */
    float *memory, *keys;       /* (positions, panelled(dim)) */
    float *mean;                /* of each sentence's Memory: (sentences, panelled(dim)) */
    float *first, *states[2];   /* vectors of hypotheses: (sentences, known), (slots, known) */
    const float **from;         /* (rows): the vector that each row continues */
    float **to;                 /* (rows): where its own goes */
    float *stream, *word, *joined, *seen, *query, *by_input, *by_state, *found, *score, *shown;
    Watched *watched;           /* NULL: the attention is not kept */
    float **kept;               /* of each sentence: where its next weights go; NULL: nowhere */
} RecurrentSession;

static inline int64_t cell_states(const Recurrent *m) { return m->decoder_layers * parts_of(m->cell) * m->dim; }
static inline int64_t covered_at(const Recurrent *m) { return cell_states(m) + (m->order == FEEDING ? m->embedding : 0); }

static void look_up(const float *table, const int32_t *tokens, int64_t rows, int64_t width, float scale, float *to) {
    for (int64_t row = 0; row < rows; row++, to += panelled(width))
        for (int64_t d = 0; d < width; d += LANES) store_f32(to + d, load_f32(table + tokens[row] * width + d) * scale);
}

/* One direction of a layer: what it knows at every position goes to `seen`, (tokens, panelled(dim)). */
static void read_one_way(RecurrentSession *s, const Cell *cell, const float *inputs, int backwards, float *seen) {
    const Recurrent *m = s->model;
    int64_t sentences = s->base.sentences, dim = m->half, gates = panelled(cell->input.outputs);
    int64_t known = parts_of(m->cell) * dim;
    float *states = s->first; /* the decoder's are not there yet */
    apply(&s->base, inputs, s->offsets[sentences], &cell->input, s->by_input, 0);
    memset(states, 0, sizeof(float) * sentences * known);
    for (int64_t position = 0, rows = 1; rows; position++) {
        rows = 0;
        for (int64_t i = 0; i < sentences; i++)
            if (s->offsets[i + 1] - s->offsets[i] > position)
                memcpy(s->seen + rows++ * panelled(dim), states + i * known, sizeof(float) * dim);
        apply(&s->base, s->seen, rows, &cell->state, s->by_state, 0);
        for (int64_t i = 0, row = 0; i < sentences; i++) {
            int64_t length = s->offsets[i + 1] - s->offsets[i];
            if (length <= position) continue;
            int64_t place = s->offsets[i] + (backwards ? length - 1 - position : position);
            float *state = states + i * known;
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

/* The last state of both directions becomes the only position of each sentence's Memory. */
static void keep_last(RecurrentSession *s) {
    const Recurrent *m = s->model;
    int64_t dim = panelled(m->dim), half = m->true_half;
    for (int64_t i = 0; i < s->base.sentences; i++) {
        const float *beginning = s->memory + s->offsets[i] * dim, *end = s->memory + (s->offsets[i + 1] - 1) * dim;
        memcpy(s->stream + i * dim, end, sizeof(float) * half);
        if (m->directions == 2) memcpy(s->stream + i * dim + half, beginning + half, sizeof(float) * half);
    }
    clear_rest(m, s->stream, s->base.sentences);
    float *other = s->memory;
    s->memory = s->stream, s->stream = other;
    for (int64_t i = 0; i <= s->base.sentences; i++) s->offsets[i] = i;
}

/* Reads the sources; leaves the Memory. */
static void read_sources(RecurrentSession *s, const int32_t *tokens) {
    const Recurrent *m = s->model;
    int64_t count = s->offsets[s->base.sentences];
    look_up(m->source_table, tokens, count, m->embedding, (float)m->embedding_scale, s->memory);
    for (int64_t layer = 0; layer < m->encoder_layers; layer++) {
        clear_rest(m, s->stream, count);
        for (int64_t way = 0; way < m->directions; way++)
            read_one_way(s, m->encoder + layer * m->directions + way, s->memory, way == 1, s->stream + way * m->true_half);
        float *read = s->memory;
        s->memory = s->stream, s->stream = read;
    }
    if (m->one_vector) keep_last(s);
}

/* A vector of length 1, times scale */
static void normalise(const float *x, float *y, int64_t dim, float scale) {
    floats sum = {};
    for (int64_t d = 0; d < dim; d += LANES) sum += load_f32(x + d) * load_f32(x + d);
    float length = sqrtf(total_of(sum));
    float factor = scale / (length < 1e-12f ? 1e-12f : length);
    for (int64_t d = 0; d < dim; d += LANES) store_f32(y + d, load_f32(x + d) * factor);
}

/* What the decoder needs of the Memory: its keys, its mean, and the first states. */
static void begin_decoder(RecurrentSession *s) {
    const Recurrent *m = s->model;
    int64_t sentences = s->base.sentences, count = s->offsets[sentences], dim = panelled(m->dim);
    if (m->key.panels) apply(&s->base, s->memory, count, &m->key, s->keys, 0);
    else if (m->score == COSINE)
        for (int64_t i = 0; i < count; i++) normalise(s->memory + i * dim, s->keys + i * dim, m->dim, 1.0f);
    for (int64_t i = 0; i < sentences; i++)
        for (int64_t d = 0; d < m->dim; d += LANES) {
            floats sum = {};
            for (int64_t j = s->offsets[i]; j < s->offsets[i + 1]; j++) sum += load_f32(s->memory + j * dim + d);
            store_f32(s->mean + i * dim + d, sum / (float)(s->offsets[i + 1] - s->offsets[i]));
        }
    apply(&s->base, s->mean, sentences, &m->first, s->by_input, 0);
    memset(s->first, 0, sizeof(float) * sentences * s->known);
    for (int64_t i = 0; i < sentences; i++)
        for (int64_t d = 0; d < cell_states(m); d += LANES)
            store_f32(s->first + i * s->known + d, hyperbolic(load_f32(s->by_input + i * panelled(m->first.outputs) + d)));
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
static void look(RecurrentSession *s, int64_t rows, const int32_t *sentences) {
    const Recurrent *m = s->model;
    int64_t dim = panelled(m->dim), covers = covered_at(m);
    const float *query = s->seen;
    if (m->query.panels || m->score == COSINE) query = s->query;
    if (m->query.panels) apply(&s->base, s->seen, rows, &m->query, s->query, 0);
    for (int64_t row = 0; m->score == COSINE && row < rows; row++)
        normalise(s->seen + row * dim, s->query + row * dim, m->dim, (float)m->scale);
    float scale = m->score == PRODUCT ? (float)m->scale : 1.0f;
    for (int64_t row = 0; row < rows; row++) {
        int64_t first = s->offsets[sentences[row]], count = s->offsets[sentences[row] + 1] - first;
        const float *memory = s->memory + first * dim, *covered = s->from[row] + covers;
        score_positions(m, query + row * dim, s->keys + first * dim, count, covered, s->score);
        softmax(s->score, count, scale);
        for (int64_t d = 0; d < m->dim; d += LANES) {
            floats sum = {};
            for (int64_t j = 0; j < count; j++) sum += s->score[j] * load_f32(memory + j * dim + d);
            store_f32(s->found + row * dim + d, sum);
        }
        for (int64_t j = 0; m->coverage && j < count; j++) s->to[row][covers + j] = covered[j] + s->score[j];
        if (s->kept) {
            memcpy(s->kept[sentences[row]], s->score, sizeof(float) * count);
            s->kept[sentences[row]] += count;
        }
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
    const Recurrent *m = s->model;
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

/* Reads one token a row: see Step. */
static void recurrent_step(Session *base, int64_t rows, const int32_t *tokens, int64_t position, const int32_t *slots,
                           const int32_t *ancestors, const int32_t *sentences) {
    RecurrentSession *s = (RecurrentSession *)base;
    const Recurrent *m = s->model;
    int64_t dim = panelled(m->dim), top = (m->decoder_layers - 1) * parts_of(m->cell) * m->dim;
    for (int64_t row = 0; row < rows; row++) {
        int64_t parent = ancestors && position ? ancestors[row * base->longest + position - 1] : slots[row];
        s->from[row] = position ? s->states[(position - 1) & 1] + parent * s->known : s->first + sentences[row] * s->known;
        s->to[row] = s->states[position & 1] + slots[row] * s->known;
    }
    look_up(m->target_table, tokens, rows, m->embedding, (float)m->embedding_scale, s->word);
    const float *beside = NULL; /* what the lowest cell reads besides the word */
    if (m->order == EVERY_STEP)
        for (int64_t row = 0; row < rows; row++)
            memcpy(s->found + row * dim, s->mean + sentences[row] * dim, sizeof(float) * m->dim);
    if (m->order == BAHDANAU) {
        copy_known(s->from, top, s->seen, dim, rows, m->dim);
        look(s, rows, sentences);
    }
    if (m->order == EVERY_STEP || m->order == BAHDANAU) beside = s->found;
    if (m->order == FEEDING) {
        copy_known(s->from, cell_states(m), s->shown, panelled(m->embedding), rows, m->embedding);
        beside = s->shown;
    }
    join(s, &m->decoder->input, s->word, m->embedding, beside, m->order == FEEDING ? m->embedding : m->dim, rows);
    pass(s, 0, rows);
    if (m->order == GNMT) look(s, rows, sentences);
    for (int64_t layer = 1; layer < m->decoder_layers; layer++) {
        join(s, &m->decoder[layer].input, s->seen, m->dim, m->order == GNMT ? s->found : NULL, m->dim, rows);
        pass(s, layer, rows);
    }
    if (m->order == LUONG || m->order == FEEDING) look(s, rows, sentences);

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

/* Reads given targets step by step, all sentences together: see Force. */
static int64_t force_recurrent(Session *base, const int32_t *tokens, const int32_t *following, const int64_t *offsets,
                               int64_t layers, float *values) {
    RecurrentSession *s = (RecurrentSession *)base;
    int64_t sentences = base->sentences;
    int32_t *slots = malloc(sizeof(int32_t) * 4 * sentences), *read = slots + sentences, *wanted = read + sentences;
    float *found = (float *)(wanted + sentences), *kept = s->watched ? s->watched->weights : NULL;
    float **next = calloc(sentences, sizeof *next);
    (void)layers; /* all are needed */
    for (int64_t i = 0; next && kept && i < sentences; i++) {
        next[i] = kept;
        kept += (offsets[i + 1] - offsets[i]) * (s->offsets[i + 1] - s->offsets[i]);
    }
    s->kept = kept ? next : NULL;
    for (int64_t position = 0, rows = 1; slots && next && rows; position++) {
        rows = 0;
        for (int64_t i = 0; i < sentences; i++)
            if (offsets[i] + position < offsets[i + 1]) {
                slots[rows] = (int32_t)i, read[rows] = tokens[offsets[i] + position];
                wanted[rows++] = following[offsets[i] + position];
            }
        recurrent_step(base, rows, read, position, slots, NULL, slots);
        if (values) score_tokens(base, rows, wanted, found);
        for (int64_t row = 0; values && row < rows; row++) values[offsets[slots[row]] + position] = found[row];
    }
    s->kept = NULL;
    int64_t failed = !slots || !next;
    free(slots), free(next);
    return failed;
}

static void end_recurrent(Session *base) {
    RecurrentSession *s = (RecurrentSession *)base;
    if (s->keys != s->memory) free(s->keys);
    void *own[] = {s->offsets, s->memory, s->mean, s->first, s->states[0], s->states[1], s->from, s->to, s->stream,
                   s->word, s->joined, s->seen, s->query, s->by_input, s->by_state, s->found, s->score, s->shown};
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
}

/* The most inputs of any linear layer that reads rows of sources or of hypotheses, filled up to panels. */
static int64_t widest_input(const Recurrent *m) {
    int64_t most = m->dim > m->embedding ? m->dim : m->embedding;
    if (m->readout.inputs > most) most = m->readout.inputs;
    for (int64_t layer = 0; layer < m->decoder_layers; layer++)
        if (m->decoder[layer].input.inputs > most) most = m->decoder[layer].input.inputs;
    return panelled(most);
}

/* offsets: of the tokens of the sources, or of the positions of the Memory, (positions, dim), where that is
 * given. beam and longest as in jumok_begin. NULL: there is not enough memory. */
static Session *begin_recurrent(const Recurrent *m, int64_t sentences, const int32_t *tokens, const float *memory,
                                const int64_t *offsets, int64_t beam, int64_t longest, Watched *watched) {
    RecurrentSession *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    Session *base = &s->base;
    int64_t count = offsets[sentences], slots = sentences * beam, rows = count > slots ? count : slots, most = 0;
    int64_t dim = panelled(m->dim), word = panelled(m->embedding), input = widest_input(m), wide = dim > word ? dim : word;
    int64_t gates = panelled(m->decoder->input.outputs), first = panelled(m->first.outputs);
    for (int64_t i = 0; i < sentences; i++)
        if (offsets[i + 1] - offsets[i] > most) most = offsets[i + 1] - offsets[i];
    *base = (Session){.sentences = sentences, .slots = slots, .longest = longest, .output = &m->output,
                      .step = recurrent_step, .force = force_recurrent, .end = end_recurrent};
    make_room(base, rows, input);
    s->model = m, s->watched = watched, s->known = covered_at(m) + (m->coverage ? padded(most) : 0);
    if ((s->offsets = room(base, sizeof(int64_t) * (sentences + 1)))) memcpy(s->offsets, offsets, sizeof(int64_t) * (sentences + 1));
#define FLOATS(count) room(base, sizeof(float) * (count))
    s->memory = FLOATS(count * wide), s->stream = FLOATS(count * wide), s->mean = FLOATS(sentences * dim);
    s->first = FLOATS(sentences * s->known), s->score = FLOATS(padded(most));
    s->states[0] = FLOATS(slots * s->known), s->states[1] = FLOATS(slots * s->known);
    s->word = FLOATS(slots * word), base->shown = s->shown = FLOATS(slots * word), s->joined = FLOATS(slots * input);
    s->seen = FLOATS(slots * dim), s->query = FLOATS(slots * dim), s->found = FLOATS(slots * dim);
    s->by_input = FLOATS(rows * (gates > first ? gates : first)), s->by_state = FLOATS(slots * gates);
    float *keys = m->key.panels || m->score == COSINE ? FLOATS(count * wide) : NULL;
#undef FLOATS
    s->from = room(base, sizeof(float *) * slots), s->to = room(base, sizeof(float *) * slots);
    if (!base->failed && tokens) read_sources(s, tokens);
    else if (!base->failed) {
        for (int64_t i = 0; i < count; i++) memcpy(s->memory + i * dim, memory + i * m->true_dim, sizeof(float) * m->true_dim);
        clear_rest(m, s->memory, count);
    }
    s->keys = keys ? keys : s->memory;
    if (base->failed) {
        jumok_end(base);
        return NULL;
    }
    begin_decoder(s);
    return base;
}
