/* The output projection without an array of all logits; greedy decoding. */
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

/* Before the logits of these rows, tile by tile. */
static void begin_logits(Session *s, const float *shown, int64_t rows) {
    const Linear *layer = s->output;
    for (int64_t row = 0; row < rows; row++) s->divisor[row] = (Divisor){-INFINITY, 0.0f};
    prepare(shown, panelled(layer->inputs), rows, layer->inputs, layer->kind, &s->prepared);
}

/* The logits of the tokens from `first` on, TILE apart; returns how many there are, a multiple of 64
 * filled up with minus infinity. */
static int64_t next_logits(Session *s, int64_t rows, int64_t first) {
    const Linear *layer = s->output;
    int64_t left = panelled(layer->outputs) - first, count = left < TILE ? left : TILE;
    for (int64_t column = 0; column < count; column += PANEL)
        panel_of(&s->prepared, panelled(layer->inputs), rows, layer, first + column, s->logits + column, TILE, 0);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t j = layer->outputs - first; j < count; j++) s->logits[row * TILE + j] = -INFINITY;
    return count;
}

/* The best tokens of these rows and their log-probabilities, those of a row `apart` from those of the next. */
static void best_of(Session *s, const float *shown, int64_t rows, const Choice *choices, int64_t apart, float *values,
                    int32_t *tokens) {
    for (int64_t i = 0; i < rows * apart; i++) values[i] = -INFINITY, tokens[i] = -1;
    begin_logits(s, shown, rows);
    for (int64_t first = 0; first < s->output->outputs; first += TILE) {
        int64_t count = next_logits(s, rows, first);
        for (int64_t row = 0; row < rows; row++) {
            const Choice *may = choices + row;
            float *here = s->logits + row * TILE;
            if (may->removed >= first && may->removed < first + count) here[may->removed - first] = -INFINITY;
            float peak = add_logits(here, count, s->divisor + row), *kept = values + row * apart;
            if (peak <= kept[may->wanted - 1]) continue; /* none of them is kept */
            for (int64_t j = 0; j < may->count; j++)
                if (may->forbidden[j] >= first && may->forbidden[j] < first + count)
                    here[may->forbidden[j] - first] = -INFINITY;
            keep_largest(here, count, (int32_t)first, may->wanted, kept, tokens + row * apart);
        }
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < choices[row].wanted; i++) values[row * apart + i] -= logarithm(s->divisor[row]);
}

/* The best tokens of all rows, by s->choices, from what the last pass has shown, to s->values and s->chosen. */
static void best_tokens(Session *s, int64_t rows) {
    for (int64_t first = 0; first < rows; first += s->at_once) {
        int64_t count = rows - first < s->at_once ? rows - first : s->at_once, at = first * s->wanted;
        best_of(s, s->shown + first * panelled(s->output->inputs), count, s->choices + first,
                s->wanted, s->values + at, s->chosen + at);
    }
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

/* The log-probabilities of all tokens after each of these rows, (rows, vocabulary). */
static void log_probabilities(Session *s, const float *shown, int64_t rows, float *values) {
    int64_t width = panelled(s->output->inputs), vocabulary = s->output->outputs;
    for (int64_t begun = 0; begun < rows; begun += s->at_once) {
        int64_t count = rows - begun < s->at_once ? rows - begun : s->at_once;
        float *here = values + begun * vocabulary;
        begin_logits(s, shown + begun * width, count);
        for (int64_t first = 0; first < vocabulary; first += TILE) {
            int64_t columns = next_logits(s, count, first), left = vocabulary - first;
            for (int64_t row = 0; row < count; row++) {
                add_logits(s->logits + row * TILE, columns, s->divisor + row);
                memcpy(here + row * vocabulary + first, s->logits + row * TILE,
                       sizeof(float) * (left < TILE ? left : TILE));
            }
        }
        for (int64_t row = 0; row < count; row++) {
            float divisor = logarithm(s->divisor[row]), *of_row = here + row * vocabulary;
            for (int64_t j = 0; j < vocabulary; j++) of_row[j] -= divisor;
        }
    }
}

/* The most probable token. */
static void write_greedily(Sentence *x, const float *values, const int32_t *tokens) {
    const Rules *rules = x->of->rules;
    Found *best = x->found;
    int64_t length = x->length++;
    x->live = 0;
    if (*tokens < 0) { /* no token has a probability: the weights hold NaN */
        best->length = -1;
        return;
    }
    best->length = length, best->finished = *tokens == rules->end, best->cut = !best->finished;
    if (!best->finished && length + 1 == x->longest) return; /* only END may follow here */
    best->probabilities[length] = *values;
    if (best->finished) return;
    best->tokens[length] = x->tokens[length] = *tokens, x->live = 1;
}
