/* Given targets: the log-probability of each of their tokens, and the attention that led to it. */
#pragma once

#include "model.h"
#include "search.h"

/* Reads whole targets in one pass, or in as few as there is room for: see Family. */
static void force(Session *base, const Request *r, const int32_t *tokens, const int32_t *following,
                  const int64_t *offsets, int64_t layers, float *values) {
    TransformerSession *s = (TransformerSession *)base;
    s->forced = r;
    for (int64_t i = 0; i < r->count;) {
        int64_t first = offsets[i], rows = 0;
        do {
            Sentence *x = r->sentences[i];
            x->given = offsets[i + 1] - offsets[i];
            for (int64_t place = 0; place < x->given; place++, rows++)
                base->list[rows] = (Row){x, tokens[first + rows], (int32_t)place, 0, NULL};
        } while (++i < r->count && offsets[i + 1] - first <= base->rows);
        read_rows(s, rows, base->list, layers);
        if (values) score_tokens(base, rows, following + first, values + first);
    }
    s->forced = NULL;
}
