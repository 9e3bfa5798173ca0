/* The output projection without an array of all logits; greedy decoding and beam search. */
#pragma once

#include "session.h"

static inline float logarithm(Divisor d) { return d.peak + logf(d.sum); }

/* Adds `count` logits, a multiple of 16 filled up with minus infinity, to the divisor; returns the largest. */
static float add_logits(const float *logits, int64_t count, Divisor *d) {
    floats most = load_f32(logits);
    for (int64_t j = LANES; j < count; j += LANES) most = larger(most, load_f32(logits + j));
    float peak = max_of(most);
    if (peak > d->peak) {
        d->sum *= d->peak == -INFINITY ? 0.0f : expf(d->peak - peak);
        d->peak = peak;
    }
    if (d->peak == -INFINITY) return peak;
    floats sum = {};
    for (int64_t j = 0; j < count; j += LANES) sum += exponential(load_f32(logits + j) - d->peak);
    d->sum += total_of(sum);
    return peak;
}

/* Keeps the `wanted` largest of these logits and of those before, with their tokens. */
static void keep_largest(const float *logits, int64_t count, int32_t first, int64_t wanted, float *values,
                         int32_t *tokens) {
    for (int64_t j = 0; j < count; j += LANES) {
        if (!any_of(load_f32(logits + j) > values[wanted - 1])) continue;
        for (int64_t i = j; i < j + LANES; i++) {
            if (!(logits[i] > values[wanted - 1])) continue;
            int64_t place = wanted - 1;
            for (; place && values[place - 1] < logits[i]; place--) {
                values[place] = values[place - 1];
                tokens[place] = tokens[place - 1];
            }
            values[place] = logits[i];
            tokens[place] = first + (int32_t)i;
        }
    }
}

/* Tokens that are never chosen keep their probability; END below the minimum length has none. */
typedef struct { const int32_t *forbidden; int64_t count; int32_t removed; } Permitted;

/* Before the logits of these rows, tile by tile. */
static void begin_logits(Session *s, const float *shown, int64_t rows) {
    const Linear *layer = s->output;
    for (int64_t row = 0; row < rows; row++) s->divisor[row] = (Divisor){-INFINITY, 0.0f};
    prepare(shown, panelled(layer->inputs), rows, layer->inputs, layer->kind, &s->rows);
}

/* The logits of the tokens from `first` on, TILE apart; returns how many there are, a multiple of 64
 * filled up with minus infinity. */
static int64_t next_logits(Session *s, int64_t rows, int64_t first) {
    const Linear *layer = s->output;
    int64_t left = panelled(layer->outputs) - first, count = left < TILE ? left : TILE;
    for (int64_t column = 0; column < count; column += PANEL)
        panel_of(&s->rows, panelled(layer->inputs), rows, layer, first + column, s->logits + column, TILE, 0);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t j = layer->outputs - first; j < count; j++) s->logits[row * TILE + j] = -INFINITY;
    return count;
}

/* The `wanted` best tokens of every row and their log-probabilities, from what the step has shown. */
static void best_tokens(Session *s, int64_t rows, const Permitted *may, int64_t wanted, float *values,
                        int32_t *tokens) {
    for (int64_t i = 0; i < rows * wanted; i++) values[i] = -INFINITY, tokens[i] = -1;
    begin_logits(s, s->shown, rows);
    for (int64_t first = 0; first < s->output->outputs; first += TILE) {
        int64_t count = next_logits(s, rows, first);
        for (int64_t row = 0; row < rows; row++) {
            float *here = s->logits + row * TILE;
            if (may->removed >= first && may->removed < first + count) here[may->removed - first] = -INFINITY;
            float peak = add_logits(here, count, s->divisor + row), *kept = values + row * wanted;
            if (peak <= kept[wanted - 1]) continue; /* none of them is kept */
            for (int64_t j = 0; j < may->count; j++)
                if (may->forbidden[j] >= first && may->forbidden[j] < first + count)
                    here[may->forbidden[j] - first] = -INFINITY;
            keep_largest(here, count, (int32_t)first, wanted, kept, tokens + row * wanted);
        }
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < wanted; i++) values[row * wanted + i] -= logarithm(s->divisor[row]);
}

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

typedef struct {
    int64_t minimum;        /* length, without END */
    int32_t start, end;
    const int64_t *longest; /* of each sentence */
    const int32_t *forbidden;
    int64_t forbidden_count;
    int64_t enough;          /* finished hypotheses that end the search for a sentence; 0: none do */
    const double *penalties; /* by length, END counted: what divides a hypothesis's log-probability */
} Limits;

/* The best hypothesis of each sentence so far: finished ones come before those that were cut. */
typedef struct { double *score; int64_t *finished, *length; uint8_t *cut; int32_t *tokens; float *probabilities; } Best;

/* The most probable token at every step. Returns 0, or 1 where memory is lacking. */
static int64_t greedy(Session *s, const Limits *limits, Best *best) {
    int64_t live = 0, width = s->longest, count = s->sentences;
    int32_t *slots = malloc(sizeof(int32_t) * 4 * count), *tokens = slots + count, *chosen = tokens + count;
    float *values = (float *)(chosen + count);
    if (!slots) return 1;
    for (int64_t i = 0; i < count; i++) slots[live] = (int32_t)i, tokens[live++] = limits->start;
    for (int64_t length = 0; live && length < width; length++) {
        Permitted may = {limits->forbidden, limits->forbidden_count, length < limits->minimum ? limits->end : -1};
        s->step(s, live, tokens, length, slots, NULL, slots);
        best_tokens(s, live, &may, 1, values, chosen);
        int64_t still = 0;
        for (int64_t row = 0; row < live; row++) {
            int32_t slot = slots[row], ended = chosen[row] == limits->end;
            if (chosen[row] < 0) { /* no token has a probability: the weights hold NaN */
                best->length[slot] = -1;
                continue;
            }
            if (!ended && length == limits->longest[slot]) { /* only END may follow here */
                best->length[slot] = length, best->cut[slot] = 1;
                continue;
            }
            best->probabilities[slot * width + length] = values[row];
            if (ended) {
                best->length[slot] = length, best->cut[slot] = 0, best->finished[slot] = 1;
                continue;
            }
            best->tokens[slot * width + length] = chosen[row];
            slots[still] = slot, tokens[still++] = chosen[row];
        }
        live = still;
    }
    free(slots);
    return 0;
}
