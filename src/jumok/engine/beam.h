/* Beam search over all sentences of a batch, for the one best hypothesis of each.
 *
 * The rules are those of decoding/beam.py: a step takes the best 2 * beam candidates (of equals the
 * better hypothesis, then the lower token); those of the first `beam` that end leave the beam; the best
 * `beam` of those that do not stay in it.
 */
#pragma once

#include "search.h"

typedef struct { float total, log_probability; int32_t parent, token; } Candidate;

/* The live hypotheses: row i of sentence s is s * beam + i. tokens, probabilities and ancestors are
 * (rows, longest); the second set takes the next step's. */
typedef struct {
    int64_t beam, *live;
    float *total, *next_total;
    int32_t *tokens, *ancestors, *next_tokens, *next_ancestors;
    float *probabilities, *next_probabilities;
} Beams;

static int better(Candidate a, Candidate b) {
    if (a.total != b.total) return a.total > b.total;
    if (a.parent != b.parent) return a.parent < b.parent;
    return a.token < b.token;
}

/* Adds a hypothesis of `length` tokens; end: END's log-probability, NaN for one that was cut. */
static void finish(const Session *s, const Limits *limits, const Beams *b, Best *best, int64_t sentence, int64_t row,
                   int64_t length, float end) {
    int64_t count = length + !isnan(end), width = s->longest;
    const float *values = b->probabilities + row * width;
    double sum = isnan(end) ? 0.0 : end;
    for (int64_t i = 0; i < length; i++) sum += values[i];
    double score = sum / limits->penalties[count > 1 ? count : 1];
    int cut = isnan(end);
    best->finished[sentence] += !cut;
    if (best->length[sentence] >= 0 && (cut > best->cut[sentence] ||
        (cut == best->cut[sentence] && !(score > best->score[sentence])))) return;
    best->score[sentence] = score, best->cut[sentence] = (uint8_t)cut, best->length[sentence] = length;
    memcpy(best->tokens + sentence * width, b->tokens + row * width, sizeof(int32_t) * length);
    memcpy(best->probabilities + sentence * width, values, sizeof(float) * length);
    if (!cut) best->probabilities[sentence * width + length] = end;
}

/* Whether no live hypothesis can still change the result: see Search._bound in decoding/beam.py. */
static int settled(const Limits *limits, const Best *best, int64_t sentence, float live, int64_t length, int64_t last) {
    if (limits->enough && best->finished[sentence] >= limits->enough) return 1;
    int64_t next = length + 2 < last + 1 ? length + 2 : last + 1;
    float at_end = (float)limits->penalties[limits->longest[sentence] + 1], soonest = (float)limits->penalties[next];
    float bound = live / (at_end > soonest ? at_end : soonest);
    return best->finished[sentence] && bound <= (float)best->score[sentence];
}

/* The best candidates of one sentence, best first; values and tokens: (rows, wanted) of its rows. */
static int64_t candidates_of(const Beams *b, int64_t sentence, const float *values, const int32_t *tokens,
                             int64_t wanted, Candidate *found) {
    int64_t count = 0;
    for (int64_t i = 0; i < b->live[sentence]; i++)
        for (int64_t j = 0; j < wanted; j++) {
            float value = values[i * wanted + j];
            if (tokens[i * wanted + j] < 0 || value == -INFINITY) continue;
            Candidate one = {b->total[sentence * b->beam + i] + value, value, (int32_t)i, tokens[i * wanted + j]};
            int64_t place = count < wanted ? count++ : wanted;
            if (place == wanted && !better(one, found[--place])) continue;
            for (; place && better(one, found[place - 1]); place--) found[place] = found[place - 1];
            found[place] = one;
        }
    return count;
}

/* Extends one sentence's beam; its live hypotheses become 0 where its search has ended. */
static void advance(const Session *s, const Limits *limits, Beams *b, Best *best, int64_t sentence, int64_t length,
                    int64_t last, const float *values, const int32_t *tokens, Candidate *found) {
    int64_t wanted = 2 * b->beam, first = sentence * b->beam, width = s->longest, kept = 0;
    int at_limit = limits->longest[sentence] == length;
    if (at_limit) {
        for (int64_t i = 0; i < b->live[sentence]; i++)
            finish(s, limits, b, best, sentence, first + i, length, tokens[i * wanted] == limits->end ? values[i * wanted] : NAN);
        b->live[sentence] = 0;
        return;
    }
    int64_t count = candidates_of(b, sentence, values, tokens, wanted, found);
    for (int64_t i = 0; i < count && i < b->beam; i++)
        if (found[i].token == limits->end)
            finish(s, limits, b, best, sentence, first + found[i].parent, length, found[i].log_probability);
    for (int64_t i = 0; i < count && kept < b->beam; i++) {
        if (found[i].token == limits->end) continue;
        int64_t from = (first + found[i].parent) * width, to = (first + kept) * width;
        memcpy(b->next_tokens + to, b->tokens + from, sizeof(int32_t) * length);
        memcpy(b->next_probabilities + to, b->probabilities + from, sizeof(float) * length);
        memcpy(b->next_ancestors + to, b->ancestors + from, sizeof(int32_t) * length);
        b->next_tokens[to + length] = found[i].token;
        b->next_probabilities[to + length] = found[i].log_probability;
        b->next_ancestors[to + length] = (int32_t)(first + found[i].parent);
        b->next_total[first + kept++] = found[i].total;
    }
    if (kept && settled(limits, best, sentence, b->next_total[first], length, last)) kept = 0;
    b->live[sentence] = kept;
}

/* Everything that a search needs besides the session, in one piece of memory. */
typedef struct {
    int32_t *slots, *tokens, *sentences, *chosen, *ancestors;
    float *values;
    Candidate *found;
    void *all;
} Room;

static Room room_of(Beams *b, int64_t sentences, int64_t width) {
    int64_t rows = sentences * b->beam, wanted = 2 * b->beam, table = rows * width, each = sizeof(int32_t);
    int64_t words = 3 * rows + 2 * rows * wanted + 7 * table + 2 * rows;
    char *all = malloc(sizeof(Candidate) * wanted + sizeof(int64_t) * sentences + each * words);
    Room r = {.all = all};
    if (!all) return r;
    r.found = (Candidate *)all;
    b->live = (int64_t *)(all + sizeof(Candidate) * wanted);
    int32_t *next = (int32_t *)(b->live + sentences);
#define TAKE(count) (next += (count), next - (count))
    r.slots = TAKE(rows), r.tokens = TAKE(rows), r.sentences = TAKE(rows), r.chosen = TAKE(rows * wanted);
    r.ancestors = TAKE(table), b->tokens = TAKE(table), b->ancestors = TAKE(table);
    b->next_tokens = TAKE(table), b->next_ancestors = TAKE(table);
    r.values = (float *)TAKE(rows * wanted), b->total = (float *)TAKE(rows), b->next_total = (float *)TAKE(rows);
    b->probabilities = (float *)TAKE(table), b->next_probabilities = (float *)TAKE(table);
#undef TAKE
    return r;
}

/* Lists the live hypotheses as rows of the next step; returns how many there are. */
static int64_t rows_of(const Session *s, const Limits *limits, const Beams *b, Room *r, int64_t length) {
    int64_t rows = 0, width = s->longest;
    for (int64_t i = 0; i < s->sentences; i++)
        for (int64_t j = 0; j < b->live[i]; j++, rows++) {
            int64_t row = i * b->beam + j;
            r->slots[rows] = (int32_t)row, r->sentences[rows] = (int32_t)i;
            r->tokens[rows] = length ? b->tokens[row * width + length - 1] : limits->start;
            memcpy(r->ancestors + rows * width, b->ancestors + row * width, sizeof(int32_t) * length);
        }
    return rows;
}

/* Returns 0, or 1 where memory is lacking. */
static int64_t beam_search(Session *s, const Limits *limits, int64_t beam, Best *best) {
    int64_t width = s->longest, wanted = 2 * beam, last = 0;
    Beams b = {.beam = beam};
    Room r = room_of(&b, s->sentences, width);
    if (!r.all) return 1;
    for (int64_t i = 0; i < s->sentences; i++) {
        b.live[i] = 1, b.total[i * beam] = 0.0f, best->length[i] = -1, best->finished[i] = 0;
        if (limits->longest[i] > last) last = limits->longest[i];
    }
    for (int64_t length = 0, rows; length < width && (rows = rows_of(s, limits, &b, &r, length)); length++) {
        Permitted may = {limits->forbidden, limits->forbidden_count, length < limits->minimum ? limits->end : -1};
        s->step(s, rows, r.tokens, length, r.slots, r.ancestors, r.sentences);
        best_tokens(s, rows, &may, wanted, r.values, r.chosen);
        for (int64_t i = 0, row = 0, here; i < s->sentences; i++, row += here)
            if ((here = b.live[i]))
                advance(s, limits, &b, best, i, length, last, r.values + row * wanted, r.chosen + row * wanted, r.found);
#define SWAP(type, one) do { type *other = b.one; b.one = b.next_##one, b.next_##one = other; } while (0)
        SWAP(int32_t, tokens);
        SWAP(int32_t, ancestors);
        SWAP(float, probabilities);
        SWAP(float, total);
#undef SWAP
    }
    free(r.all);
    return 0;
}
