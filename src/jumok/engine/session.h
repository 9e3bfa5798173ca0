/* What the sessions of all models have in common: all that a search needs of a decoder.
 *
 * A model's own session begins with this one, so that a pointer to either is a pointer to both.
 */
#pragma once

#include "matrix.h"

#define TILE (8 * PANEL) /* logits of a row that are computed and read before the next ones */
#define CHUNK 64         /* rows of a given target whose logits are computed together */

/* A softmax's divisor so far: exp(peak) * sum. */
typedef struct { float peak, sum; } Divisor;

typedef struct Session Session;

/* Reads one token a row; leaves what the output projection reads in `shown`.
 *
 * slots: where each row writes what later steps read. ancestors: (rows, longest), the slots in which
 * earlier positions were written; NULL: each row's own. sentences: what each row was given to read. */
typedef void Step(Session *, int64_t rows, const int32_t *tokens, int64_t position, const int32_t *slots,
                  const int32_t *ancestors, const int32_t *sentences);

enum { ENCODER, DECODER, CROSS };

/* An attention whose weights are kept: (chosen heads, queries, keys) of each sentence, one sentence
 * after the other. rank: of each head, its number among the chosen ones, or -1. */
typedef struct {
    int64_t part, layer, heads;
    const int32_t *rank;
    float *weights; /* where those of the next sentence go */
    float *query, *key, *value; /* of a Transformer's last sentence, each (positions, heads x dim); NULL: not kept */
} Watched;

/* Reads given targets. Returns 0, or 1 where memory is lacking.
 *
 * tokens: those of every target after START, one target after the other; following: what is expected
 * after each of them; offsets: where each target begins, and the number of all at the end. layers: the
 * blocks of the decoder that are needed. values: the log-probabilities of `following`; NULL: not wanted. */
typedef int64_t Force(Session *, const int32_t *tokens, const int32_t *following, const int64_t *offsets,
                      int64_t layers, float *values);

struct Session {
    int64_t sentences, slots, longest; /* longest: positions of the target, END counted */
    int64_t at_once;                   /* how many rows have room for their logits */
    const Linear *output;
    Step *step;
    Force *force;
    void (*end)(Session *); /* frees what the model's own session has */
    const float *shown;     /* (rows, panelled(inputs of the output)) */
    float *logits;
    Divisor *divisor; /* (rows) */
    Prepared rows;
    int failed; /* there was not enough memory */
};

void jumok_end(Session *s); /* frees everything */

/* The sums of 16 vectors, each by halves as in total_of: a level adds the halves of two vectors at once. */
static inline floats totals_of(floats *block) {
#define HALVE(distance)                                                                     \
    for (int i = 0; i < distance; i++) {                                                    \
        floats a = block[i], b = block[i + distance];                                       \
        block[i] = PICK(a, b, UPPER_##distance) + PICK(a, b, LOWER_##distance);             \
    }
    HALVE(8)
    HALVE(4)
    HALVE(2)
    HALVE(1)
#undef HALVE
    return block[0];
}

/* softmax of scale * score, in place; beyond `keys` zeros */
static void softmax(float *score, int64_t keys, float scale) {
    int64_t width = padded(keys);
    for (int64_t j = keys; j < width; j++) score[j] = -INFINITY;
    floats most = load_f32(score);
    for (int64_t j = LANES; j < width; j += LANES) most = larger(most, load_f32(score + j));
    float peak = max_of(most) * scale;
    floats sum = {};
    for (int64_t j = 0; j < width; j += LANES) {
        floats x = load_f32(score + j);
        floats power = choose(x == -INFINITY, spread(0.0f), exponential(x * scale - peak));
        store_f32(score + j, power);
        sum += power;
    }
    floats share = spread(1.0f / total_of(sum));
    for (int64_t j = 0; j < width; j += LANES) store_f32(score + j, load_f32(score + j) * share);
}

static void *room(Session *s, int64_t bytes) {
    void *found = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!found) s->failed = 1;
    return found;
}

/* Makes the common room. rows and width: the most that any linear layer of the model reads. */
static void make_room(Session *s, int64_t rows, int64_t width) {
    s->rows.halves_ = room(s, sizeof(uint16_t) * rows * width), s->rows.bytes_ = (uint8_t *)s->rows.halves_;
    s->rows.scale = room(s, sizeof(float) * rows);
    s->at_once = s->slots > CHUNK ? s->slots : rows < CHUNK ? rows : CHUNK;
    s->logits = room(s, sizeof(float) * s->at_once * TILE), s->divisor = room(s, sizeof(Divisor) * s->at_once);
}

/* y = x W^T + b of float32 rows, or its positive part; rows of x and y are filled up to panels. */
static void apply(Session *s, const float *x, int64_t rows, const Linear *layer, float *y, int positive) {
    int64_t width = panelled(layer->inputs);
    prepare(x, width, rows, layer->inputs, layer->kind, &s->rows);
    linear(&s->rows, width, rows, layer, y, positive);
}
