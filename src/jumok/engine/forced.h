/* Given targets: the log-probability of each of their tokens, and the attention that led to it. */
#pragma once

#include "model.h"
#include "search.h"

/* The log-probabilities of these tokens, one a row, from what the last pass has shown. */
static void score_tokens(Session *s, int64_t rows, const int32_t *tokens, float *values) {
    const Linear *layer = s->output;
    int64_t width = panelled(layer->inputs);
    for (int64_t first = 0; first < rows; first += s->at_once) {
        int64_t count = rows - first < s->at_once ? rows - first : s->at_once;
        begin_logits(s, s->shown + first * width, count);
        for (int64_t tile = 0; tile < layer->outputs; tile += TILE) {
            int64_t columns = next_logits(s, count, tile);
            for (int64_t row = 0; row < count; row++) {
                int64_t here = tokens[first + row] - tile;
                if (here >= 0 && here < columns) values[first + row] = s->logits[row * TILE + here];
                add_logits(s->logits + row * TILE, columns, s->divisor + row);
            }
        }
        for (int64_t row = 0; row < count; row++) values[first + row] -= logarithm(s->divisor[row]);
    }
}

/* Reads whole targets in one pass, or in as few as there is room for.
 *
 * tokens: those of every target after START, one target after the other; following: what is expected
 * after each of them; offsets: where each target begins, and the number of all at the end. layers: the
 * blocks of the decoder that are needed. values: the log-probabilities of `following`; NULL: not wanted.
 * Returns 0, or 1 where memory is lacking. */
static int64_t force(TransformerSession *s, const int32_t *tokens, const int32_t *following, const int64_t *offsets,
                     int64_t layers, float *values) {
    int64_t sentences = s->base.sentences;
    int32_t *places = malloc(sizeof(int32_t) * 2 * s->most), *slots = places + s->most;
    if (!places) return 1;
    s->targets = offsets;
    for (int64_t sentence = 0; sentence < sentences;) {
        int64_t first = offsets[sentence], rows = 0;
        do
            for (int64_t place = 0; place < offsets[sentence + 1] - offsets[sentence]; place++, rows++)
                places[rows] = (int32_t)place, slots[rows] = (int32_t)sentence;
        while (++sentence < sentences && offsets[sentence + 1] - first <= s->most);
        read_rows(s, rows, tokens + first, places, slots, NULL, slots, layers);
        if (values) score_tokens(&s->base, rows, following + first, values + first);
    }
    s->targets = NULL;
    free(places);
    return 0;
}
