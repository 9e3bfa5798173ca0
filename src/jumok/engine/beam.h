/* Searches: those of any number of sentences, which may be at different lengths, make their steps together.
 *
 * The rules of a beam are those of decoding/beam.py: a step takes the best 2 * beam candidates (of equals the
 * better hypothesis, then the lower token); those of the first `beam` that end leave the beam; the best `beam`
 * of those that do not stay in it.
 */
#pragma once

#include "search.h"

static int better(Candidate a, Candidate b) {
    if (a.total != b.total) return a.total > b.total;
    if (a.parent != b.parent) return a.parent < b.parent;
    return a.token < b.token;
}

/* Adds a hypothesis of `length` tokens; end: END's log-probability, NaN for one that was cut. */
static void finish(const Sentence *x, int64_t slot, int64_t length, float end) {
    Found *best = x->found;
    int64_t count = length + !isnan(end), cut = isnan(end);
    const float *values = x->probabilities + slot * x->longest;
    double sum = cut ? 0.0 : end;
    for (int64_t i = 0; i < length; i++) sum += values[i];
    double score = sum / x->of->rules->penalties[count > 1 ? count : 1];
    best->finished += !cut;
    if (best->length >= 0 && (cut > best->cut || (cut == best->cut && !(score > best->score)))) return;
    best->score = score, best->cut = cut, best->length = length;
    memcpy(best->tokens, x->tokens + slot * x->longest, sizeof(int32_t) * length);
    memcpy(best->probabilities, values, sizeof(float) * length);
    if (!cut) best->probabilities[length] = end;
}

/* Whether no live hypothesis, the best of which has this total, can still change the result: see Search._bound
 * in decoding/beam.py. */
static int settled(const Sentence *x, float live, int64_t length) {
    const Rules *rules = x->of->rules;
    const Found *best = x->found;
    if (rules->enough && best->finished >= rules->enough) return 1;
    int64_t next = length + 2 < x->longest ? length + 2 : x->longest;
    float at_end = (float)rules->penalties[x->longest], soonest = (float)rules->penalties[next];
    float bound = live / (at_end > soonest ? at_end : soonest);
    return best->finished && bound <= (float)best->score;
}

/* The best candidates of a sentence, best first; values and tokens: of its rows, `apart` of each row. */
static int64_t candidates_of(const Sentence *x, const float *values, const int32_t *tokens, int64_t apart,
                             Candidate *found) {
    int64_t count = 0, wanted = 2 * x->of->rules->beam;
    for (int64_t i = 0; i < x->live; i++, values += apart, tokens += apart)
        for (int64_t j = 0; j < wanted; j++) {
            if (tokens[j] < 0 || values[j] == -INFINITY) continue;
            Candidate one = {x->total[i] + values[j], values[j], (int32_t)i, tokens[j]};
            int64_t place = count < wanted ? count++ : wanted;
            if (place == wanted && !better(one, found[--place])) continue;
            for (; place && better(one, found[place - 1]); place--) found[place] = found[place - 1];
            found[place] = one;
        }
    return count;
}

/* A candidate becomes hypothesis `slot` of the next step. */
static void keep(Sentence *x, Candidate one, int64_t slot) {
    int64_t length = x->length, from = one.parent * x->longest, to = slot * x->longest;
    memcpy(x->next_tokens + to, x->tokens + from, sizeof(int32_t) * length);
    memcpy(x->next_probabilities + to, x->probabilities + from, sizeof(float) * length);
    memcpy(x->next_ancestors + to, x->ancestors + from, sizeof(int32_t) * length);
    x->next_tokens[to + length] = one.token;
    x->next_probabilities[to + length] = one.log_probability;
    x->next_ancestors[to + length] = one.parent;
    x->next_total[slot] = one.total;
}

/* Extends a beam. */
static void write_beam(Sentence *x, const float *values, const int32_t *tokens, int64_t apart, Candidate *found) {
    const Rules *rules = x->of->rules;
    int64_t length = x->length, kept = 0;
    if (length + 1 == x->longest) { /* only END may follow here */
        for (int64_t i = 0; i < x->live; i++)
            finish(x, i, length, tokens[i * apart] == rules->end ? values[i * apart] : NAN);
        x->live = 0;
        return;
    }
    int64_t count = candidates_of(x, values, tokens, apart, found);
    for (int64_t i = 0; i < count && i < rules->beam; i++)
        if (found[i].token == rules->end) finish(x, found[i].parent, length, found[i].log_probability);
    for (int64_t i = 0; i < count && kept < rules->beam; i++)
        if (found[i].token != rules->end) keep(x, found[i], kept++);
    x->live = kept && settled(x, x->next_total[0], length) ? 0 : kept;
    x->length++;
#define SWAP(type, one) do { type *other = x->one; x->one = x->next_##one, x->next_##one = other; } while (0)
    SWAP(int32_t, tokens);
    SWAP(int32_t, ancestors);
    SWAP(float, probabilities);
    SWAP(float, total);
#undef SWAP
}

/* Lists the live hypotheses of a request as rows of the next step, from `row` on; returns where they end. */
static int64_t list_rows(Session *s, const Request *r, int64_t row) {
    const Rules *rules = r->rules;
    for (int64_t i = 0; i < r->count; i++) {
        Sentence *x = r->sentences[i];
        int32_t removed = x->length < rules->minimum ? rules->end : -1;
        for (int64_t slot = 0; slot < x->live; slot++, row++) {
            int64_t at = slot * x->longest;
            s->list[row] = (Row){x, x->length ? x->tokens[at + x->length - 1] : rules->start, (int32_t)x->length,
                                 (int32_t)slot, rules->beam > 1 ? x->ancestors + at : NULL};
            s->choices[row] = (Choice){rules->forbidden, rules->forbidden_count, wanted_of(rules), removed};
        }
    }
    return row;
}

/* What the sentences of a request make of the step, whose rows begin at `row`; returns where they end. */
static int64_t take_step(Session *s, Request *r, int64_t row) {
    for (int64_t i = 0; i < r->count; i++) {
        Sentence *x = r->sentences[i];
        int64_t here = x->live, at = row * s->wanted;
        if (!here) continue;
        if (r->rules->beam == 1)
            write_greedily(x, s->values + at, s->chosen + at);
        else
            write_beam(x, s->values + at, s->chosen + at, s->wanted, s->found);
        row += here, r->searched -= !x->live;
    }
    return row;
}

/* Searches for several requests together, until one of them has no more sentences to search for, or until
 * *stop is not 0 (NULL: it never is). Returns 0, or 1 where memory is lacking. */
static int64_t search(Session *s, Request *const *requests, int64_t count, const volatile int32_t *stop) {
    int64_t most = 0, reach = 0, wanted = 1;
    for (int64_t i = 0; i < count; i++) {
        const Request *r = requests[i];
        most += r->count * r->rules->beam;
        if (wanted_of(r->rules) > wanted) wanted = wanted_of(r->rules);
        for (int64_t j = 0; j < r->count; j++) reach = reach_of(reach, r->sentences[j]);
    }
    if (!make_room(s, most, reach, wanted)) return 1;
    for (;;) {
        int64_t rows = 0, over = 0;
        for (int64_t i = 0; i < count; i++) rows = list_rows(s, requests[i], rows), over |= !requests[i]->searched;
        if (over) return 0;
        s->family->step(s, rows, s->list);
        best_tokens(s, rows);
        for (int64_t i = 0, row = 0; i < count; i++) row = take_step(s, requests[i], row);
        if (stop && *stop) return 0;
    }
}
