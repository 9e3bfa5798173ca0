/* A Transformer's weights, its session, and what a block consists of besides attention: norms,
 * activations, feed-forward layers.
 *
 * Every width is filled up with zeros to a multiple of 16 where the weights are packed, and stays zero
 * in every vector; only means divide by the true widths.
 */
#pragma once

#include "session.h"

typedef struct { const float *gain, *bias; } Norm; /* bias NULL: an RMS norm; both NULL: there is none */

/* What the heads of queries or of keys are put through after their projection. */
typedef struct {
    const float *gain; /* (head_dim): x becomes gain x / rms(x); NULL: it does not */
    const float *unit; /* (heads): x becomes unit x / |x|; NULL: it does not */
} Process;

typedef struct {
    Linear projections, output; /* queries, keys and values in one layer; of a recurrence its gate and its input */
    Process queries, keys;
    Norm after_self;
    Linear cross_query, cross_projections, cross_output; /* keys and values of the Memory in one layer */
    Process cross_queries, cross_keys;
    Norm after_cross;
    Linear inner, outer; /* of a gated layer the gate comes first, then the inner layer */
    Norm after_feedforward;
    int64_t window; /* how many positions a query sees on a side, its own counted; 0: all */
    int64_t recurrent; /* a recurrence (SSRU) is in the place of self-attention, which has no output layer */
} Block;

enum { RELU, GELU, SILU, GELU_TANH };

typedef struct {
    int64_t dim, heads, kv_heads, head_dim, value_dim, hidden; /* widths filled up to a multiple of 16 */
    int64_t true_dim, true_head_dim;
    int64_t encoder_blocks, decoder_blocks, post_norm, parallel, activation, gated;
    int64_t farthest; /* the distance from which on all have the same bias */
    double epsilon, scale;
    const float *source_table, *target_table;   /* (vocabulary, dim), scaled */
    const float *source_places, *target_places; /* (positions, dim), or NULL */
    const float *source_fraction;  /* (dim): times a place's fraction of its source; NULL: nothing */
    const float *turn;          /* (positions, 2, head_dim): rotary cosines and signed sines; or NULL */
    const float *slopes;        /* (heads): of ALiBi; or NULL */
    const float *source_biases, *target_biases; /* (heads, 2 farthest + 1): by distance; or NULL */
    Norm source_norm, target_norm; /* of the vectors of words with their positions */
    Norm encoder_first, decoder_first;
    const Block *encoder, *decoder;
    Linear output;
} Model;

/* Where the weights of one row are kept: those of a head `apart` elements after those of the head before. */
typedef struct { const int32_t *rank; float *weights; int64_t apart, query; const Watched *of; } Kept; /* weights NULL: nowhere */

typedef struct {
    Session base;
    const Request *forced; /* whose given targets are read; NULL: hypotheses are written */
    float *stream, *normed, *wide, *found, *score;
    const float **at; /* addresses of keys, and of values: (2, positions) */
} TransformerSession;

static inline const Model *model_of(const TransformerSession *s) { return s->base.model; }
static inline int64_t query_width(const Model *m) { return m->heads * m->head_dim; }
static inline int64_t key_width(const Model *m) { return m->kv_heads * m->head_dim; }
static inline int64_t value_width(const Model *m) { return m->kv_heads * m->value_dim; }
static inline int64_t found_width(const Model *m) { return m->heads * m->value_dim; }

/* What is kept of a sentence: in each block of the decoder the keys and values of its source, (source, both), and
 * those of hypotheses, (beam, longest, width), or their states. */
static inline int64_t both_widths(const Model *m) { return panelled(key_width(m) + value_width(m)); }
static inline int64_t past_width(const Model *m) {
    int64_t both = key_width(m) + value_width(m);
    return both > m->dim ? both : m->dim;
}
static inline int64_t slots_of(const Sentence *x) { return x->of->rules->beam * x->longest; }
static inline float *memory_of(const Model *m, const Sentence *x, int64_t layer) {
    return x->own + layer * x->source * both_widths(m);
}
static inline float *keys_of(const Model *m, const Sentence *x, int64_t layer) {
    return memory_of(m, x, m->decoder_blocks) + layer * slots_of(x) * past_width(m);
}
static inline float *values_of(const Model *m, const Sentence *x, int64_t layer) {
    return keys_of(m, x, layer) + slots_of(x) * key_width(m);
}
static int64_t keeps_of(const Session *s, const Sentence *x) { /* widths are multiples of 16 */
    const Model *m = s->model;
    return keys_of(m, x, m->decoder_blocks) - x->own;
}

/* The mean of the squares of x - mean; beyond the true width there is nothing. */
static inline float mean_square(const float *x, float mean, int64_t width, int64_t true_width) {
    floats square = {};
    for (int64_t d = 0; d < width; d += LANES) {
        floats apart = load_f32(x + d) - mean;
        if (d + LANES > true_width) apart = choose((ints)COUNT < (int32_t)(true_width - d), apart, spread(0.0f));
        square += apart * apart;
    }
    return total_of(square) / true_width;
}

/* normed = norm(stream), one row; without a norm a copy */
static void norm_row(const Model *m, const float *x, float *y, Norm norm) {
    if (!norm.gain) {
        memcpy(y, x, sizeof(float) * m->dim);
        return;
    }
    floats sum = {};
    for (int64_t d = 0; norm.bias && d < m->dim; d += LANES) sum += load_f32(x + d);
    float mean = norm.bias ? total_of(sum) / m->true_dim : 0.0f;
    float rate = 1.0f / sqrtf(mean_square(x, mean, m->dim, m->true_dim) + (float)m->epsilon);
    for (int64_t d = 0; d < m->dim; d += LANES) {
        floats normed = (load_f32(x + d) - mean) * rate * load_f32(norm.gain + d);
        store_f32(y + d, norm.bias ? normed + load_f32(norm.bias + d) : normed);
    }
}

static void norm_rows(const TransformerSession *s, int64_t rows, Norm norm) {
    int64_t dim = panelled(model_of(s)->dim);
    for (int64_t row = 0; row < rows; row++) norm_row(model_of(s), s->stream + row * dim, s->normed + row * dim, norm);
}

/* stream += update, then its norm, which replaces the stream in post-norm models */
static void add_norm(TransformerSession *s, const float *update, Norm norm, int64_t rows) {
    const Model *m = model_of(s);
    int64_t row_width = panelled(m->dim);
    for (int64_t row = 0; row < rows; row++) {
        float *x = s->stream + row * row_width, *y = s->normed + row * row_width;
        for (int64_t d = 0; d < m->dim; d += LANES)
            store_f32(x + d, load_f32(x + d) + load_f32(update + row * row_width + d));
        norm_row(m, x, y, norm);
        if (m->post_norm) memcpy(x, y, sizeof(float) * m->dim);
    }
}

/* The same stream, but the norm of what it was before: the next part runs in parallel. */
static void add_beside(TransformerSession *s, const float *update, Norm norm, int64_t rows) {
    int64_t dim = panelled(model_of(s)->dim);
    norm_rows(s, rows, norm);
    for (int64_t at = 0; at < rows * dim; at += LANES)
        store_f32(s->stream + at, load_f32(s->stream + at) + load_f32(update + at));
}

/* x Phi(x), where Phi(x) = erfc(-x / sqrt 2) / 2. erfc by the Chebyshev fit of Press et al., Numerical
 * Recipes, section 6.2: the relative error is below 1.2e-7. */
static inline floats gelu(floats x) {
    static const float FIT[] = {0.17087277f, -0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f,
                                -0.18628806f, 0.09678418f, 0.37409196f, 1.00002368f, -1.26551223f};
    floats z = x * 0.70710678f, size = larger(-z, z), t = 1.0f / (1.0f + 0.5f * size), sum = spread(FIT[0]);
    for (unsigned i = 1; i < sizeof FIT / sizeof *FIT; i++) sum = sum * t + FIT[i];
    floats tail = 0.5f * t * exponential(sum - size * size); /* the probability beyond |x| */
    return x * choose(x > 0.0f, 1.0f - tail, tail);
}

/* x (1 + tanh z) / 2 = x sigmoid(2 z), z = sqrt(2 / pi) (x + 0.044715 x^3): Hendrycks and Gimpel 2016. */
static inline floats gelu_tanh(floats x) { return x * sigmoid(1.59576912f * (x + 0.044715f * x * x * x)); }

static inline floats activated(int64_t activation, floats x) {
    if (activation == GELU) return gelu(x);
    if (activation == GELU_TANH) return gelu_tanh(x);
    return activation == SILU ? x * sigmoid(x) : larger(spread(0.0f), x);
}

/* The activations between the layers, in place: rows of the outer layer's width. A gate comes first and
 * is followed by what it is multiplied with. */
static void activate(const Model *m, float *x, int64_t rows, int64_t from_width, int64_t to_width) {
    for (int64_t row = 0; row < rows; row++) {
        const float *from = x + row * from_width;
        float *to = x + row * to_width; /* never beyond what is read next */
        for (int64_t d = 0; d < m->hidden; d += LANES) {
            floats y = activated(m->activation, load_f32(from + d));
            store_f32(to + d, m->gated ? y * load_f32(from + m->hidden + d) : y);
        }
    }
}

static void feed_forward(TransformerSession *s, const Block *block, int64_t rows) {
    const Model *m = model_of(s);
    int plain = !m->gated && m->activation == RELU; /* the layer itself leaves out what is negative */
    apply(&s->base, s->normed, rows, &block->inner, s->wide, plain);
    if (!plain) activate(m, s->wide, rows, panelled(block->inner.outputs), panelled(block->outer.inputs));
    apply(&s->base, s->wide, rows, &block->outer, s->found, 0);
    add_norm(s, s->found, block->after_feedforward, rows);
}
