/* Attention of all heads of one row, with positions inside of it and weights that are kept. */
#pragma once

#include "layers.h"

/* Turns neighbours by the angle of their place: (x, y) becomes (x cos - y sin, y cos + x sin). */
static inline void turn_head(float *x, const float *turn, int64_t head_dim) {
    for (int64_t d = 0; d < head_dim; d += LANES) {
        floats here = load_f32(x + d);
        floats across = PICK(here, here, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
        store_f32(x + d, here * load_f32(turn + d) + across * load_f32(turn + head_dim + d));
    }
}

/* The heads of a row's queries or keys, before they are compared. place: the row's position, by which
 * rotary positions turn them; -1: they do not, as between target and source. */
static void process(const Model *m, float *x, int64_t heads, Process by, int64_t place) {
    int64_t width = m->head_dim;
    const float *turn = m->turn && place >= 0 ? m->turn + place * 2 * width : NULL;
    if (!by.gain && !by.unit && !turn) return;
    for (int64_t head = 0; head < heads; head++, x += width) {
        if (by.gain) {
            float rate = 1.0f / sqrtf(mean_square(x, 0.0f, width, m->true_head_dim) + (float)m->epsilon);
            for (int64_t d = 0; d < width; d += LANES) store_f32(x + d, load_f32(x + d) * rate * load_f32(by.gain + d));
        }
        if (turn) turn_head(x, turn, width);
        if (by.unit) {
            float length = sqrtf(mean_square(x, 0.0f, width, width) * width);
            float rate = by.unit[head] / (length > 1e-12f ? length : 1e-12f);
            for (int64_t d = 0; d < width; d += LANES) store_f32(x + d, load_f32(x + d) * rate);
        }
    }
}

/* What a row attends to: an address for each position; place: its own, if biases depend on it, or -1. */
typedef struct { const float *const *key, *const *value; int64_t count, place; } Seen;

/* ALiBi: a score falls with the distance, to later positions with the slope of the head opposite. */
static void add_distances(const Model *m, int64_t head, int64_t place, int64_t keys, float *score) {
    float back = m->slopes[head], ahead = m->slopes[m->heads - 1 - head];
    for (int64_t j = 0; j < keys; j += LANES) {
        floats distance = __builtin_convertvector((ints)COUNT, floats) + (float)(j - place);
        store_f32(score + j, load_f32(score + j) * (float)m->scale +
                                 choose(distance > 0.0f, -distance * ahead, distance * back));
    }
}

/* The products of a query with the keys from `first` on, 16 at most; beyond the last key zeros. */
static inline floats products(const float *query, const float *const *key, int64_t at, int64_t count, int64_t width) {
    floats block[LANES] = {};
    for (int i = 0; i < LANES && i < count; i++) {
        floats dot = {};
        for (int64_t d = 0; d < width; d += LANES) dot += load_f32(query + d) * load_f32(key[i] + at + d);
        block[i] = dot;
    }
    return totals_of(block);
}

/* found = the sum of `vectors` * 16 elements of each value, by their weights */
INLINE void weighted_sum(const float *weight, const float *const *value, int64_t at, int64_t count, float *found,
                         const int vectors) {
    floats sum[4] = {};
    for (int64_t j = 0; j < count; j++)
        for (int v = 0; v < vectors; v++) sum[v] += weight[j] * load_f32(value[j] + at + v * LANES);
    for (int v = 0; v < vectors; v++) store_f32(found + v * LANES, sum[v]);
}

/* One head of one row; key_at and value_at: where in a position's vectors those of the head lie. */
static void attend(const Model *m, int64_t head, const float *query, const Seen *seen, float *score, float *found) {
    int64_t shared = head / (m->heads / m->kv_heads), key_at = shared * m->head_dim, value_at = shared * m->value_dim;
    for (int64_t j = 0; j < seen->count; j += LANES)
        store_f32(score + j, products(query, seen->key + j, key_at, seen->count - j, m->head_dim));
    int biased = m->slopes && seen->place >= 0;
    if (biased) add_distances(m, head, seen->place, seen->count, score);
    softmax(score, seen->count, biased ? 1.0f : (float)m->scale);
    int64_t d = 0;
    for (; d + 4 * LANES <= m->value_dim; d += 4 * LANES)
        weighted_sum(score, seen->value, value_at + d, seen->count, found + d, 4);
    for (; d < m->value_dim; d += LANES) weighted_sum(score, seen->value, value_at + d, seen->count, found + d, 1);
}

/* What the weights of one row were made of. */
static void keep_vectors(const Model *m, const Watched *to, int64_t row, const float *query, const Seen *seen) {
    int64_t keys = key_width(m), values = value_width(m);
    memcpy(to->query + row * query_width(m), query, sizeof(float) * query_width(m));
    for (int64_t j = 0; j < seen->count; j++) {
        memcpy(to->key + j * keys, seen->key[j], sizeof(float) * keys);
        memcpy(to->value + j * values, seen->value[j], sizeof(float) * values);
    }
}

/* All heads of one row. */
static void attend_heads(const TransformerSession *s, const float *query, const Seen *seen, float *found, Kept kept) {
    const Model *m = model_of(s);
    if (kept.of && kept.of->query) keep_vectors(m, kept.of, kept.query, query, seen);
    for (int64_t head = 0; head < m->heads; head++) {
        attend(m, head, query + head * m->head_dim, seen, s->score, found + head * m->value_dim);
        if (kept.weights && kept.rank[head] >= 0)
            memcpy(kept.weights + kept.rank[head] * kept.apart, s->score, sizeof(float) * seen->count);
    }
}

/* The attention of this part and layer if its weights are kept, or NULL. */
static Watched *watched_of(const Request *r, int64_t part, int64_t layer) {
    for (int64_t i = 0; i < r->watched_count; i++)
        if (r->watched[i].part == part && r->watched[i].layer == layer) return r->watched + i;
    return NULL;
}

/* The room for one of a sentence's queries; they come in order, and the last one ends the sentence. */
static Kept room_for(Watched *w, int64_t query, int64_t queries, int64_t keys) {
    if (!w) return (Kept){0};
    Kept kept = {w->rank, w->weights + query * keys, queries * keys, query, w};
    if (query + 1 == queries) w->weights += w->heads * queries * keys;
    return kept;
}
