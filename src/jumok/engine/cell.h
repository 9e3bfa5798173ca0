/* The cells of RNNs, as in layers/recurrent.py: gates and states are laid out as in torch's cells. */
#pragma once

#include "session.h"

enum { PLAIN, LSTM, GRU };

/* What an input and a state are put through before the gates. */
typedef struct { Linear input, state; } Cell;

static inline int64_t parts_of(int64_t kind) { return kind == LSTM ? 2 : 1; }

/* The sum of the two projections of gate `gate`, a vector of units from d. */
static inline floats gate_of(const float *input, const float *state, int64_t gate, int64_t dim, int64_t d) {
    return load_f32(input + gate * dim + d) + load_f32(state + gate * dim + d);
}

/* The state after an input. input and state: their projections, (gates, dim); before and after: (parts, dim),
 * which may be the same. */
static void advance_cell(int64_t kind, int64_t dim, const float *input, const float *state, const float *before,
                         float *after) {
    for (int64_t d = 0; d < dim; d += LANES)
        if (kind == GRU) {
            floats reset = sigmoid(gate_of(input, state, 0, dim, d)), keep = sigmoid(gate_of(input, state, 1, dim, d));
            floats fresh = hyperbolic(load_f32(input + 2 * dim + d) + reset * load_f32(state + 2 * dim + d));
            store_f32(after + d, fresh + keep * (load_f32(before + d) - fresh));
        } else if (kind == LSTM) {
            floats write = sigmoid(gate_of(input, state, 0, dim, d)), keep = sigmoid(gate_of(input, state, 1, dim, d));
            floats fresh = hyperbolic(gate_of(input, state, 2, dim, d)), show = sigmoid(gate_of(input, state, 3, dim, d));
            floats kept = keep * load_f32(before + dim + d) + write * fresh;
            store_f32(after + dim + d, kept);
            store_f32(after + d, show * hyperbolic(kept));
        } else
            store_f32(after + d, hyperbolic(gate_of(input, state, 0, dim, d)));
}
