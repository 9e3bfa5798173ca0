/* The engine as a page calls it: one sentence at a time, and 32-bit numbers, which JavaScript has. */

#include "engine.c"

/* What a search is told, and what is kept until the page has read it. */
typedef struct {
    int32_t beam, start, end, minimum, longest, enough, forbidden_count;
    const int32_t *forbidden;
    const double *penalties;
} WebRules;

typedef struct {
    Session *session;
    const Model *model;
    const WebRules *rules;
    int64_t source, watched_count;
    Watched *watched; /* every attention: the layers of the encoder, of the decoder, and of its cross-attention */
    int32_t *every;   /* 0, 1, 2, ...: every head is wanted, and the source's positions */
    float *weights[3], *vectors[3]; /* vectors: of each layer the queries, the keys, the values */
} WebSession;

void jumok_close(WebSession *w) {
    if (w->session) jumok_end(w->session);
    for (int part = ENCODER; part <= CROSS; part++) free(w->weights[part]), free(w->vectors[part]);
    free(w->watched), free(w->every), free(w);
}

static int64_t layers_of(const Model *m, int64_t part) { return part == ENCODER ? m->encoder_blocks : m->decoder_blocks; }

/* Makes room for the weights of a part, (layers, heads, queries, keys), and for its vectors. Returns whether
 * there is memory. */
static int make_weights(WebSession *w, int64_t part, int64_t queries, int64_t keys) {
    const Model *m = w->model;
    int64_t size = m->heads * queries * keys, sizes[] = {queries * query_width(m), keys * key_width(m), keys * value_width(m)};
    float *next = w->weights[part] = calloc(layers_of(m, part) * size + 1, sizeof(float));
    float *vector = w->vectors[part] = calloc(layers_of(m, part) * (sizes[0] + sizes[1] + sizes[2]) + 1, sizeof(float));
    for (int64_t i = 0; next && vector && i < w->watched_count; i++) {
        Watched *each = w->watched + i;
        if (each->part != part) continue;
        each->weights = next, each->query = vector, each->key = vector + sizes[0], each->value = each->key + sizes[1];
        next += size, vector = each->value + sizes[2];
    }
    return next && vector;
}

/* Reads a source. NULL: memory is lacking. */
WebSession *jumok_open(const Model *m, const int32_t *source, int32_t count, const WebRules *rules) {
    WebSession *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    int64_t offsets[2] = {0, count}, longest = rules->longest + 1, most = m->heads > count ? m->heads : count;
    w->model = m, w->rules = rules, w->source = count, w->watched_count = m->encoder_blocks + 2 * m->decoder_blocks;
    w->watched = calloc(w->watched_count, sizeof *w->watched), w->every = malloc(sizeof(int32_t) * most);
    if (!w->watched || !w->every) return jumok_close(w), NULL;
    for (int32_t i = 0; i < most; i++) w->every[i] = i;
    for (int64_t part = ENCODER, i = 0; part <= CROSS; part++)
        for (int64_t layer = 0; layer < layers_of(m, part); layer++)
            w->watched[i++] = (Watched){part, layer, m->heads, w->every, NULL, NULL, NULL, NULL};
    if (make_weights(w, ENCODER, count, count))
        w->session = jumok_begin(m, 1, source, w->every, NULL, offsets, rules->beam, longest, w->watched, w->watched_count);
    return w->session ? w : (jumok_close(w), NULL);
}

/* The best translation, without END: tokens has room for the longest and END. Returns the number of its
 * tokens; -1: memory is lacking; -2: the weights hold NaN. */
int32_t jumok_write(WebSession *w, int32_t *tokens) {
    const WebRules *r = w->rules;
    int64_t longest = r->longest, finished = 0, length = 0, failed = 1;
    double score = 0;
    uint8_t cut = 0;
    float *probabilities = malloc(sizeof(float) * (longest + 1));
    if (!probabilities) return -1;
    Limits limits = {r->minimum, r->start, r->end, &longest, r->forbidden, r->forbidden_count, r->enough, r->penalties};
    Best best = {&score, &finished, &length, &cut, tokens, probabilities};
    failed = r->beam == 1 ? jumok_greedy(w->session, &limits, &best) : jumok_beam(w->session, &limits, r->beam, &best);
    free(probabilities);
    return failed ? -1 : length < 0 ? -2 : (int32_t)length;
}

/* Reads the source's target. values: the log-probability of each token, END's last; tokens and chances:
 * (length + 1, wanted), the most probable tokens after every prefix. Returns 0, or 1 where memory is lacking. */
int32_t jumok_look(WebSession *w, const int32_t *target, int32_t length, float *values, int32_t wanted,
                   int32_t *tokens, float *chances) {
    int64_t rows = length + 1, offsets[2] = {0, rows};
    int32_t *given = malloc(sizeof(int32_t) * 2 * rows), *following = given + rows, failed = 1;
    if (!given) return 1;
    given[0] = w->rules->start, following[length] = w->rules->end;
    memcpy(given + 1, target, sizeof(int32_t) * length), memcpy(following, target, sizeof(int32_t) * length);
    if (make_weights(w, DECODER, rows, rows) && make_weights(w, CROSS, rows, w->source))
        failed = (int32_t)jumok_force(w->session, given, following, offsets, w->model->decoder_blocks, values);
    free(given);
    if (failed) return failed;
    Session *s = w->session;
    const float *shown = s->shown;
    int64_t width = panelled(s->output->inputs);
    Permitted may = {NULL, 0, -1};
    for (int64_t first = 0; first < rows; first += s->at_once) {
        int64_t count = rows - first < s->at_once ? rows - first : s->at_once;
        s->shown = shown + first * width;
        best_tokens(s, count, &may, wanted, chances + first * wanted, tokens + first * wanted);
    }
    s->shown = shown;
    return 0;
}

/* The weights of a part, (layers, heads, queries, keys): 0 the encoder's, 1 the decoder's, 2 of the source. */
const float *jumok_weights(const WebSession *w, int32_t part) { return w->weights[part]; }

/* The vectors of a part, layer by layer: queries, keys and values, each (positions, heads, dim). */
const float *jumok_vectors(const WebSession *w, int32_t part) { return w->vectors[part]; }

/* The rows of a table that is stored in panels, as float32 and times a factor: (outputs, inputs). */
void jumok_table(const Linear *layer, float *table, float factor) {
    int64_t group = layer->kind == INT8 ? 4 : layer->kind == BFLOAT16 ? 2 : 1, inputs = layer->inputs;
    for (int64_t row = 0; row < layer->outputs; row++)
        for (int64_t k = 0; k < inputs; k++) {
            int64_t place = row / PANEL * PANEL * inputs + k / group * PANEL * group + row % PANEL * group + k % group;
            float *value = table + row * inputs + k;
            if (layer->kind == INT8)
                *value = ((const int8_t *)layer->panels)[place] * layer->scale[row];
            else if (layer->kind == BFLOAT16)
                *value = one_bf16((const uint16_t *)layer->panels + place);
            else
                *value = ((const float *)layer->panels)[place];
            *value *= factor;
        }
}
