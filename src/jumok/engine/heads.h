/* Attention of all heads of one row, with positions inside of it and weights that are kept. */
#pragma once

#include "layers.h"

/* Turns neighbours by the angle of their place: (x, y) becomes (x cos - y sin, y cos + x sin). */
static inline void turn_head(float *x, const float *turn, int64_t head_dim) {
    for (int64_t d = 0; d < head_dim; d += LANES) {
        floats here = load_f32(x + d);
        floats across = PICK(here, here, NEIGHBOURS);
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

/* What a row attends to: an address for each position; place: its own, if biases depend on it, or -1;
 * before: how many positions come before these, which it does not see; biases: of distances, or NULL. */
typedef struct { const float *const *key, *const *value; int64_t count, place, before; const float *biases; } Seen;

/* What is left of it inside of a window. */
static inline Seen nearest(Seen seen, int64_t window) {
    int64_t first = seen.place - window + 1, end = seen.place + window;
    if (!window) return seen;
    if (first < 0) first = 0;
    if (end > seen.count) end = seen.count;
    return (Seen){seen.key + first, seen.value + first, end - first, seen.place - first, first, seen.biases};
}

/* ALiBi: a score falls with the distance, to later positions with the slope of the head opposite. */
static void add_distances(const Model *m, int64_t head, int64_t place, int64_t keys, float *score) {
    float back = m->slopes[head], ahead = m->slopes[m->heads - 1 - head];
    for (int64_t j = 0; j < keys; j += LANES) {
        floats distance = __builtin_convertvector((ints)COUNT, floats) + (float)(j - place);
        store_f32(score + j, load_f32(score + j) * (float)m->scale +
                                 choose(distance > 0.0f, -distance * ahead, distance * back));
    }
}

/* T5: each distance has a bias. */
static void add_biases(const Model *m, const float *of, int64_t place, int64_t keys, float *score) {
    int64_t last = m->farthest;
    for (int64_t j = 0; j < keys; j++) {
        int64_t ahead = j - place, within = ahead < -last ? -last : ahead > last ? last : ahead;
        score[j] = score[j] * (float)m->scale + of[last + within];
    }
}

#define SCORES 2048 /* of heads that attend together; a head with more keys attends alone */
#define TOGETHER 8  /* heads at most */
#define EARLY 8     /* positions that are fetched before they are read */

/* What `heads` heads attend with and to, in the order in which they lie in memory: all heads of a position,
 * then the next position. score: (heads, apart) */
typedef struct { int64_t first, heads, apart; float *score; } Heads;

static inline void fetch(const float *from, int64_t width) {
    for (int64_t d = 0; d < width; d += 16) __builtin_prefetch(from + d); /* a cache line has 16 floats */
}

/* The products of the heads' queries with all keys. Keys are fetched a few positions ahead, and so are the
 * values, which are read next. */
static void score_keys(const Model *m, Heads h, const float *query, const Seen *seen) {
    floats block[TOGETHER][LANES] = {};
    int64_t width = m->head_dim, at[TOGETHER], last = h.first + h.heads - 1, sharing = m->heads / m->kv_heads;
    for (int64_t head = 0; head < h.heads; head++) at[head] = (h.first + head) / sharing * width;
    int64_t wide = at[h.heads - 1] + width - at[0], value_at = h.first / sharing * m->value_dim;
    int64_t value_wide = last / sharing * m->value_dim + m->value_dim - value_at;
    for (int64_t j = 0; j < seen->count && j < EARLY; j++) fetch(seen->key[j] + at[0], wide);
    for (int64_t j = 0; j < seen->count; j += LANES) {
        for (int64_t i = 0; i < LANES && j + i < seen->count; i++) {
            if (j + i + EARLY < seen->count) fetch(seen->key[j + i + EARLY] + at[0], wide);
            fetch(seen->value[j + i] + value_at, value_wide);
            for (int64_t head = 0; head < h.heads; head++) {
                const float *asked = query + (h.first + head) * width, *key = seen->key[j + i] + at[head];
                floats dot = {};
                for (int64_t d = 0; d < width; d += LANES) dot += load_f32(asked + d) * load_f32(key + d);
                block[head][i] = dot;
            }
        }
        for (int64_t head = 0; head < h.heads; head++) store_f32(h.score + head * h.apart + j, totals_of(block[head]));
    }
}

/* found = the sum of all values by the weights of each head, for `heads` heads that do not share them, of
 * which the values of each are `vectors` vectors wide; or for a part of the values of one head. */
INLINE void weighted_sums(const float *weight, int64_t apart, const float *const *value, int64_t at, int64_t count,
                          float *found, const int heads, const int vectors) {
    floats sum[ABREAST][4] = {};
    for (int64_t j = 0; j < count; j++)
        for (int h = 0; h < heads; h++)
            for (int v = 0; v < vectors; v++)
                sum[h][v] += weight[h * apart + j] * load_f32(value[j] + at + (h * vectors + v) * LANES);
    for (int h = 0; h < heads; h++)
        for (int v = 0; v < vectors; v++) store_f32(found + (h * vectors + v) * LANES, sum[h][v]);
}

/* The values that the heads find, by the weights in h.score. */
static void find_values(const Model *m, Heads h, const Seen *seen, float *found) {
    int64_t width = m->value_dim, sharing = m->heads / m->kv_heads, head = 0;
    for (; sharing == 1 && width == 4 * LANES && head + ABREAST <= h.heads; head += ABREAST)
        weighted_sums(h.score + head * h.apart, h.apart, seen->value, (h.first + head) * width, seen->count,
                      found + (h.first + head) * width, ABREAST, 4);
    for (; head < h.heads; head++) {
        const float *weight = h.score + head * h.apart;
        int64_t at = (h.first + head) / sharing * width, d = 0;
        float *to = found + (h.first + head) * width;
        for (; d + 4 * LANES <= width; d += 4 * LANES) weighted_sums(weight, 0, seen->value, at + d, seen->count, to + d, 1, 4);
        for (; d < width; d += LANES) weighted_sums(weight, 0, seen->value, at + d, seen->count, to + d, 1, 1);
    }
}

/* What the weights of one row were made of. */
static void keep_vectors(const Model *m, const Watched *to, int64_t row, const float *query, const Seen *seen) {
    int64_t keys = key_width(m), values = value_width(m);
    memcpy(to->query + row * query_width(m), query, sizeof(float) * query_width(m));
    for (int64_t j = 0; j < seen->count; j++) {
        memcpy(to->key + (seen->before + j) * keys, seen->key[j], sizeof(float) * keys);
        memcpy(to->value + (seen->before + j) * values, seen->value[j], sizeof(float) * values);
    }
}

/* All heads of one row. */
static void attend_heads(const TransformerSession *s, const float *query, const Seen *seen, float *found, Kept kept) {
    const Model *m = model_of(s);
    float scores[SCORES];
    int64_t apart = padded(seen->count + !seen->count), together = SCORES / apart < TOGETHER ? SCORES / apart : TOGETHER;
    int biased = seen->biases || (m->slopes && seen->place >= 0);
    Heads h = {.apart = apart, .score = together ? scores : s->score};
    if (kept.of && kept.of->query) keep_vectors(m, kept.of, kept.query, query, seen);
    for (; h.first < m->heads; h.first += h.heads) {
        h.heads = m->heads - h.first < together ? m->heads - h.first : together ? together : 1;
        score_keys(m, h, query, seen);
        for (int64_t i = 0; i < h.heads; i++) {
            int64_t head = h.first + i;
            float *score = h.score + i * apart;
            if (seen->biases)
                add_biases(m, seen->biases + head * (2 * m->farthest + 1), seen->place, seen->count, score);
            else if (biased)
                add_distances(m, head, seen->place, seen->count, score);
            softmax(score, seen->count, biased ? 1.0f : (float)m->scale);
            if (kept.weights && kept.rank[head] >= 0)
                memcpy(kept.weights + kept.rank[head] * kept.apart + seen->before, score, sizeof(float) * seen->count);
        }
        find_values(m, h, seen, found);
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
