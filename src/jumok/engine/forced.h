/* Given targets: the log-probability of each of their tokens, and the attention that led to it. */
#pragma once

#include "model.h"
#include "search.h"

/* Reads whole targets in one pass, or in as few as there is room for: see Force. */
static int64_t force(Session *base, const int32_t *tokens, const int32_t *following, const int64_t *offsets,
                     int64_t layers, float *values) {
    TransformerSession *s = (TransformerSession *)base;
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
