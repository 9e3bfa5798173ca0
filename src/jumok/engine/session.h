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

enum { ENCODER, DECODER, CROSS };

/* An attention whose weights are kept: (chosen heads, queries, keys) of each sentence, one sentence
 * after the other. rank: of each head, its number among the chosen ones, or -1. */
typedef struct {
    int64_t part, layer, heads;
    const int32_t *rank;
    float *weights; /* where those of the next sentence go */
    float *query, *key, *value; /* of a Transformer's last sentence, each (positions, heads x dim); NULL: not kept */
} Watched;

/* How hypotheses are found. beam 1: greedily. */
typedef struct {
    int64_t beam, minimum; /* minimum: of tokens, without END */
    int64_t enough;        /* finished hypotheses that end the search for a sentence; 0: none do */
    int32_t start, end;
    const int32_t *forbidden;
    int64_t forbidden_count;
    const double *penalties; /* by length, END counted: what divides a hypothesis's log-probability */
} Rules;

/* The best hypothesis so far, finished ones before those that were cut. `length` is without END, and -1 where
 * there is none; `probabilities` are with END's, if it is finished. */
typedef struct {
    double score;
    int64_t finished, length, cut; /* finished: how many hypotheses are */
    int32_t *tokens;               /* room for the longest target and END */
    float *probabilities;
} Found;

typedef struct Sentence Sentence;

/* Sentences that are read together, and what is wanted of them. */
typedef struct {
    int64_t count;
    const int32_t *tokens;  /* of all sources, one after the other; NULL: `memory` is given */
    const float *memory;    /* (positions, dim), or NULL; without either there are no sources */
    const int64_t *offsets; /* where each begins, and how many positions there are at the end */
    const int64_t *longest; /* the tokens of each target at most, without END */
    const Rules *rules;
    Found *found; /* of each sentence */
    Watched *watched;
    int64_t watched_count;
    int64_t searched;     /* how many sentences are still searched for */
    Sentence **sentences; /* of each what is known of it */
} Request;

/* A sentence while hypotheses for it are written. A slot is where one of them keeps what its later steps read. */
struct Sentence {
    Request *of;
    Found *found;
    int64_t source, longest; /* positions of the source, and of the target, END counted */
    int64_t length, live;    /* tokens of each hypothesis, and how many hypotheses go on */
    int64_t given;           /* the positions of a given target, while it is read */
    /* of each live hypothesis, (beam) and (beam, longest); the second set takes the next step's */
    float *total, *next_total, *probabilities, *next_probabilities;
    int32_t *tokens, *next_tokens, *ancestors, *next_ancestors; /* ancestors: the slots in which earlier positions are */
    float *own; /* what the model keeps of it */
};

/* One token that is read. ancestors: as in Sentence; NULL: every position is in `slot`. */
typedef struct {
    Sentence *of;
    int32_t token, place, slot;
    const int32_t *ancestors;
} Row;

typedef struct Session Session;

/* What a model has to do. */
typedef struct {
    /* Divides the session's room into what rows of these numbers need: see `take`. */
    void (*lay_out)(Session *);
    /* Reads the sources of a request, whose sentences are there. */
    void (*encode)(Session *, Request *);
    /* The floats that it keeps of a sentence. */
    int64_t (*keeps)(const Session *, const Sentence *);
    /* Reads one token a row; leaves what the output projection reads in `shown`. */
    void (*step)(Session *, int64_t rows, const Row *);
    /* Reads the given targets of a request.
     *
     * tokens: those of every target after START, one target after the other; following: what is expected after
     * each of them; offsets: where each target begins, and the number of all at the end. layers: the blocks of
     * the decoder that are needed. values: the log-probabilities of `following`; NULL: not wanted. */
    void (*force)(Session *, const Request *, const int32_t *tokens, const int32_t *following, const int64_t *offsets,
                  int64_t layers, float *values);
} Family;

/* What may be chosen after a row. Forbidden tokens keep their probability; one that is removed has none. */
typedef struct {
    const int32_t *forbidden;
    int64_t count, wanted; /* wanted: how many tokens, the most probable ones */
    int32_t removed;
} Choice;

/* A token that may continue a hypothesis; total: the log-probability of all of it. */
typedef struct { float total, log_probability; int32_t parent, token; } Candidate;

/* Room to compute in, of one thread at a time; what is known of sentences is not in it. */
struct Session {
    const Family *family;
    const void *model;
    const Linear *output;
    int64_t rows, reach, wanted; /* what there is room for: rows of a pass, positions, candidates a row */
    int64_t at_once;             /* how many rows have room for their logits */
    char *room;
    int64_t used;
    const float *shown; /* (rows, panelled(inputs of the output)) */
    float *logits;
    Divisor *divisor; /* (rows) */
    Prepared prepared;
    Row *list;        /* (rows) */
    Choice *choices;  /* (rows) */
    float *values;    /* (rows, wanted) */
    int32_t *chosen;  /* (rows, wanted) */
    Candidate *found; /* (wanted) */
};

/* The sums of LANES vectors, each by halves as in total_of: a round adds the halves of two vectors at once. */
static inline floats totals_of(floats *block) {
#define HALVE(distance)                                                                     \
    for (int i = 0; i < distance; i++) {                                                    \
        floats a = block[i], b = block[i + distance];                                       \
        block[i] = PICK(a, b, UPPER_##distance) + PICK(a, b, LOWER_##distance);             \
    }
    ROUNDS(HALVE)
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

/* A part of the session's room. The first time it is only counted: there is no room yet. */
static void *take(Session *s, int64_t bytes) {
    char *here = s->room ? s->room + s->used : NULL;
    s->used += (bytes + 127) / 64 * 64;
    return here;
}

static float *take_floats(Session *s, int64_t count) { return take(s, sizeof(float) * count); }

/* The room that all models need. width: the most that any linear layer reads. */
static void lay_out_common(Session *s, int64_t width) {
    int64_t rows = s->rows;
    s->used = 0;
    s->prepared.halves_ = take(s, sizeof(uint16_t) * rows * width), s->prepared.bytes_ = (uint8_t *)s->prepared.halves_;
    s->prepared.scale = take_floats(s, rows);
    s->at_once = rows < CHUNK ? rows : CHUNK;
    s->logits = take_floats(s, s->at_once * TILE), s->divisor = take(s, sizeof(Divisor) * s->at_once);
    s->list = take(s, sizeof(Row) * rows), s->choices = take(s, sizeof(Choice) * rows);
    s->found = take(s, sizeof(Candidate) * s->wanted);
    s->values = take_floats(s, rows * s->wanted), s->chosen = take(s, sizeof(int32_t) * rows * s->wanted);
}

/* Makes room for passes of so many rows; what was in it is lost. Returns whether there is memory. */
static int make_room(Session *s, int64_t rows, int64_t reach, int64_t wanted) {
    if (s->room && rows <= s->rows && reach <= s->reach && wanted <= s->wanted) return 1;
#define GROW(what) if (s->what < what) s->what = s->what && what < 2 * s->what ? 2 * s->what : what
    GROW(rows);
    GROW(reach);
    GROW(wanted);
#undef GROW
    free(s->room);
    s->room = NULL;
    s->family->lay_out(s);
    if (!(s->room = aligned_alloc(64, s->used))) return s->rows = 0;
    s->family->lay_out(s);
    return 1;
}

/* How many candidates a hypothesis brings to a step: see beam.h. */
static inline int64_t wanted_of(const Rules *rules) { return rules->beam == 1 ? 1 : 2 * rules->beam; }

/* The most positions that any row of these sentences may read. */
static inline int64_t reach_of(int64_t reach, const Sentence *x) {
    int64_t most = x->source > x->longest ? x->source : x->longest;
    return most > reach ? most : reach;
}

/* y = x W^T + b of float32 rows, or its positive part; rows of x and y are filled up to panels. */
static void apply(Session *s, const float *x, int64_t rows, const Linear *layer, float *y, int positive) {
    int64_t width = panelled(layer->inputs);
    prepare(x, width, rows, layer->inputs, layer->kind, &s->prepared);
    linear(&s->prepared, width, rows, layer, y, positive);
}

static void release(Request *r) {
    for (int64_t i = 0; i < r->count; i++) free(r->sentences[i]), r->sentences[i] = NULL;
}

/* What is known of a sentence of a request, before its source is read; NULL: memory is lacking. */
static Sentence *new_sentence(const Session *s, Request *r, int64_t index) {
    Sentence known = {.of = r, .found = r->found ? r->found + index : NULL, .longest = r->longest[index] + 1, .live = 1};
    int64_t beam = r->rules->beam, table = padded(beam * known.longest), few = padded(beam);
    known.source = r->offsets[index + 1] - r->offsets[index];
    int64_t head = (sizeof known + 63) / 64 * 16, own = s->family->keeps(s, &known);
    float *all = aligned_alloc(64, sizeof(float) * (head + 2 * few + 6 * table + padded(own) + BLOCK));
    if (!all) return NULL;
    float *next = all + head;
#define TAKE(count) (next += (count), next - (count))
    known.total = TAKE(few), known.next_total = TAKE(few);
    known.probabilities = TAKE(table), known.next_probabilities = TAKE(table);
    known.tokens = (int32_t *)TAKE(table), known.next_tokens = (int32_t *)TAKE(table);
    known.ancestors = (int32_t *)TAKE(table), known.next_ancestors = (int32_t *)TAKE(table);
#undef TAKE
    known.own = next, known.total[0] = 0.0f;
    if (known.found) known.found->length = -1, known.found->finished = 0;
    return memcpy(all, &known, sizeof known);
}
