/* The loss of a softmax over the vocabulary, and its gradient in the place of the logits: the
 * kernels of cross_entropy.py. Included by kernels.c once for each element type.
 */
/* A vector of a row from `j` on; those beyond its end are `beyond`. */
static inline floats F(load_part)(const TYPE *row, int64_t j, int64_t columns, float beyond) {
    if (j + LANES <= columns) return F(load)(row + j);
    TYPE rest[LANES] = {0};
    memcpy(rest, row + j, sizeof(TYPE) * (columns - j));
    return choose((ints)(COUNT + (uint32_t)j < (uint32_t)columns), F(load)(rest), spread(beyond));
}

static inline void F(store_part)(TYPE *row, int64_t j, int64_t columns, floats x) {
    if (j + LANES <= columns) {
        F(store)(row + j, x);
        return;
    }
    TYPE rest[LANES];
    F(store)(rest, x);
    memcpy(row + j, rest, sizeof(TYPE) * (columns - j));
}

/* powers[j] = exp(logit - peak), 0 beyond the vocabulary. */
static Softmax F(exponentials)(const TYPE *logits, float *powers, int64_t vocabulary) {
    int64_t whole = vocabulary / LANES * LANES;
    floats last = F(load_part)(logits, whole, vocabulary, -INFINITY);
    floats most = last, sum = F(load_part)(logits, whole, vocabulary, 0.0f), total = {};
    for (int64_t j = 0; j < whole; j += LANES) {
        floats logit = F(load)(logits + j);
        most = larger(most, logit);
        sum += logit;
    }
    float peak = max_of(most);
    for (int64_t j = 0; j < whole; j += LANES) {
        floats power = exponential(F(load)(logits + j) - peak);
        store_f32(powers + j, power);
        total += power;
    }
    if (whole < vocabulary) {
        floats power = choose(last == -INFINITY, spread(0.0f), exponential(last - peak));
        store_f32(powers + whole, power);
        total += power;
    }
    float all = sum_of(total);
    return (Softmax){.total = all, .log_total = peak + log(all), .sum = sum_of(sum)};
}

/* The label-smoothed loss of one row: -(1 - e) log p[target] - e/V sum_v log p[v]. */
static double F(row_loss)(const TYPE *logits, int64_t target, Softmax softmax, int64_t vocabulary,
                          double smoothing) {
    double picked = F(one)(logits + target) - softmax.log_total;
    double all = softmax.sum - vocabulary * softmax.log_total;
    return -(1.0 - smoothing) * picked - smoothing / vocabulary * all;
}

/* What is returned where a target is no column of the logits; no loss is that. */
#ifndef OUTSIDE
#define OUTSIDE -INFINITY
#endif

/* The target of a row that has none: no loss, and a gradient of zeros. */
#ifndef NO_TARGET
#define NO_TARGET -100
#endif

static int F(outside)(const int64_t *targets, int64_t count, int64_t vocabulary) {
    uint64_t most = 0; /* a target below 0 is a large one here */
    for (int64_t i = 0; i < count; i++) {
        uint64_t target = targets[i] == NO_TARGET ? 0 : (uint64_t)targets[i];
        most = most < target ? target : most;
    }
    return most >= (uint64_t)vocabulary;
}

/* Replaces logits (rows x vocabulary) by the gradient of the summed label-smoothed loss, which is
 * returned. scratch holds `padded vocabulary` floats. */
double F(cross_entropy)(TYPE *logits, const int64_t *targets, float *scratch, int64_t rows,
                        int64_t vocabulary, double smoothing) {
    double loss = 0;
    float even = (float)(smoothing / vocabulary);
    if (F(outside)(targets, rows, vocabulary)) return OUTSIDE;
    for (int64_t i = 0; i < rows; i++) {
        TYPE *row = logits + i * vocabulary;
        if (targets[i] == NO_TARGET) {
            memset(row, 0, sizeof(TYPE) * vocabulary);
            continue;
        }
        Softmax softmax = F(exponentials)(row, scratch, vocabulary);
        loss += F(row_loss)(row, targets[i], softmax, vocabulary, smoothing);
        scratch[targets[i]] += (float)(smoothing - 1.0) * softmax.total;
        float share = 1.0f / softmax.total;
        for (int64_t j = 0; j < vocabulary; j += LANES)
            F(store_part)(row, j, vocabulary, load_f32(scratch + j) * share - even);
    }
    return loss;
}

/* The same for two forward passes over each target, in adjacent rows a and b, with their divergences:
 *     loss(a) + loss(b) + weight sum_v (p_a - p_b)(log p_a - log p_b)
 * scratch holds two padded rows. */
double F(consistent_cross_entropy)(TYPE *logits, const int64_t *targets, float *scratch, int64_t pairs,
                                   int64_t vocabulary, double smoothing, double weight) {
    double loss = 0;
    float even = (float)(smoothing / vocabulary), heavy = (float)weight;
    float *p = scratch, *q = scratch + padded(vocabulary);
    if (F(outside)(targets, pairs, vocabulary)) return OUTSIDE;
    for (int64_t i = 0; i < pairs; i++) {
        TYPE *a = logits + 2 * i * vocabulary, *b = a + vocabulary;
        if (targets[i] == NO_TARGET) {
            memset(a, 0, sizeof(TYPE) * 2 * vocabulary);
            continue;
        }
        Softmax of_a = F(exponentials)(a, p, vocabulary), of_b = F(exponentials)(b, q, vocabulary);
        loss += F(row_loss)(a, targets[i], of_a, vocabulary, smoothing);
        loss += F(row_loss)(b, targets[i], of_b, vocabulary, smoothing);
        float share_a = 1.0f / of_a.total, share_b = 1.0f / of_b.total;
        float shift = (float)(of_a.log_total - of_b.log_total);
        floats sum_a = {}, sum_b = {};
        for (int64_t j = 0; j < vocabulary; j += LANES) {
            floats x = F(load_part)(a, j, vocabulary, 0.0f), y = F(load_part)(b, j, vocabulary, 0.0f);
            floats apart = x - y - shift;
            sum_a += load_f32(p + j) * apart;
            sum_b += load_f32(q + j) * apart;
        }
        float kl_a = sum_of(sum_a) * share_a, kl_b = -sum_of(sum_b) * share_b;
        loss += weight * (kl_a + kl_b);
        for (int64_t j = 0; j < vocabulary; j += LANES) {
            floats x = F(load_part)(a, j, vocabulary, 0.0f), y = F(load_part)(b, j, vocabulary, 0.0f);
            floats apart = x - y - shift;
            floats p_a = load_f32(p + j) * share_a, p_b = load_f32(q + j) * share_b;
            store_f32(p + j, p_a - even + heavy * (p_a * (apart - kl_a + 1.0f) - p_b));
            store_f32(q + j, p_b - even + heavy * (p_b * (1.0f - apart - kl_b) - p_a));
        }
        p[targets[i]] -= (float)(1.0 - smoothing);
        q[targets[i]] -= (float)(1.0 - smoothing);
        for (int64_t j = 0; j < vocabulary; j += LANES) {
            F(store_part)(a, j, vocabulary, load_f32(p + j));
            F(store_part)(b, j, vocabulary, load_f32(q + j));
        }
    }
    return loss;
}
