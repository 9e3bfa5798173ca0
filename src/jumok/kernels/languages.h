/* The most probable label of short texts by a linear model of fastText: Joulin et al. 2016, "Bag of
 * Tricks for Efficient Text Classification". Its input is the mean of the rows of a text's words and of
 * their runs of characters; its output a binary tree of labels (hierarchical softmax).
 *
 * fastText sums the rows in the same order, in float32, and computes every node of the tree.
 */
#include <math.h>

#define WIDTH 16
#define LONGEST_TEXT 512 /* bytes: no longer text is given */
#define PREFIX "__label__"
#define END "</s>"

/* A run of characters belongs to a bucket. slots, a power of two, hold bucket + 1 where its number leads
 * or behind, and places the row of that bucket; 0 where the model has no row for it.
 *
 * rows: those of the words, which are the first, and of buckets.
 * output: a row for each inner node of the tree. Nodes below `labels` are leaves; inner node i, the root
 * last, has the number labels + i, and two children. */
typedef struct {
    const int32_t *slots, *places;
    const float *rows, *output;
    const int32_t *children;
    int64_t slot_count, buckets, shortest, longest, labels;
} LinearModel;

typedef struct {
    float values[WIDTH];
    int64_t count;
} Sum;

static void add_row(Sum *sum, const float *row) {
    for (int i = 0; i < WIDTH; i++) sum->values[i] += row[i];
    sum->count++;
}

static int64_t bucket_slot(const LinearModel *model, int32_t bucket) {
    int64_t mask = model->slot_count - 1, at = (uint32_t)bucket * 0x9E3779B1u >> 7 & mask;
    while (model->slots[at] && model->slots[at] != bucket + 1) at = (at + 1) & mask;
    return at;
}

/* Fills the empty slots. */
void place_buckets(const LinearModel *model, int32_t *slots, int32_t *places, const int32_t *buckets,
                   const int32_t *rows, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        int64_t at = bucket_slot(model, buckets[i]);
        slots[at] = buckets[i] + 1;
        places[at] = rows[i];
    }
}

static int begins_character(uint8_t byte) { return (byte & 0xC0) != 0x80; }

/* The rows of the runs of `shortest` to `longest` characters, by a hash of their bytes (FNV-1a, in which
 * fastText takes bytes for signed numbers). */
static void add_runs(Sum *sum, const LinearModel *model, const uint8_t *word, int64_t size) {
    for (int64_t i = 0; i < size; i++) {
        if (!begins_character(word[i])) continue;
        uint32_t hash = 2166136261u;
        int64_t at = i;
        for (int64_t length = 1; at < size && length <= model->longest; length++) {
            do hash = (hash ^ (uint32_t)(int8_t)word[at++]) * 16777619u;
            while (at < size && !begins_character(word[at]));
            if (length < model->shortest || (length == 1 && (i == 0 || at == size))) continue;
            int64_t slot = bucket_slot(model, (int32_t)(hash % (uint32_t)model->buckets));
            if (model->slots[slot]) add_row(sum, model->rows + WIDTH * model->places[slot]);
        }
    }
}

/* Adds a word in < and >; whether the text goes on after it. */
static int add_word(Sum *sum, const LinearModel *model, const Words *words, uint8_t *marked,
                    int64_t size) {
    const uint8_t *word = marked + 1;
    int32_t known = words->slots[slot_of(words, word, size, hash_of(word, size))];
    int64_t prefix = sizeof PREFIX - 1, end = sizeof END - 1;
    if (size >= prefix && !memcmp(word, PREFIX, prefix)) return 1;
    if (known) add_row(sum, model->rows + WIDTH * (known - 1));
    if (size == end && !memcmp(word, END, end)) return 0;
    marked[0] = '<';
    marked[size + 1] = '>';
    add_runs(sum, model, marked, size + 2);
    return 1;
}

static float logarithm(float share) { return (float)log(share + 1e-5); }

typedef struct {
    float score;
    int32_t label;
} Best;

/* The leaf below a node with the highest score, if it is higher than that of `best`. The more probable
 * child comes first: most others then need not be looked at. */
static Best descend(const LinearModel *model, const float *hidden, int32_t node, float score, Best best) {
    if (best.label >= 0 && score < best.score) return best;
    if (node < model->labels) return (Best){score, node};
    const float *row = model->output + WIDTH * (node - model->labels);
    const int32_t *child = model->children + 2 * (node - model->labels);
    float product = 0;
    for (int i = 0; i < WIDTH; i++) product += row[i] * hidden[i];
    float right = (float)(1.0 / (1.0f + expf(-product))), left = (float)(1.0 - right);
    int first = right > left;
    for (int turn = 0; turn < 2; turn++) {
        int side = turn ? !first : first;
        best = descend(model, hidden, child[side], score + logarithm(side ? right : left), best);
    }
    return best;
}

/* labels[text] and shares[text]: its most probable label, and the probability. A text is ended by a line
 * break, and its words by the spaces of fastText. */
void identify_texts(const uint8_t *bytes, int64_t size, const Words *words, const LinearModel *model,
                    int32_t *labels, float *shares) {
    uint8_t marked[LONGEST_TEXT + 16] = {0};
    Sum sum = {{0}, 0};
    int64_t length = 0;
    int goes_on = 1;
    for (int64_t at = 0; at < size; at++) {
        uint8_t byte = bytes[at];
        if (byte > ' ' || (byte && byte < '\t') || (byte > '\r' && byte < ' ')) {
            if (length < LONGEST_TEXT) marked[++length] = byte;
            continue;
        }
        if (length && goes_on) goes_on = add_word(&sum, model, words, marked, length);
        length = 0;
        if (byte != ENDING) continue;
        if (goes_on) {
            memcpy(marked + 1, END, sizeof END - 1);
            add_word(&sum, model, words, marked, sizeof END - 1);
        }
        float hidden[WIDTH];
        for (int i = 0; i < WIDTH; i++) hidden[i] = sum.values[i] * (float)(1.0 / sum.count);
        int32_t root = (int32_t)(2 * model->labels - 2);
        Best best = descend(model, hidden, root, 0, (Best){0, -1});
        *labels++ = best.label;
        *shares++ = expf(best.score);
        sum = (Sum){{0}, 0};
        goes_on = 1;
    }
}
