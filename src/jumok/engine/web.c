/* The engine as a page calls it: one sentence at a time, and 32-bit numbers, which JavaScript has. */

#include "engine.c"

typedef struct {
    Session *session;
    const Model *model;
    Request request;
    Rules rules;
    Found best;
    Sentence *sentence;
    int64_t offsets[2], longest;
    int32_t *every; /* 0, 1, 2, ...: every head is wanted */
    float *weights[3], *vectors[3]; /* vectors: of each layer the queries, the keys, the values */
} WebSession;

/* What a search is told. */
typedef struct {
    int32_t beam, start, end, minimum, longest, enough, forbidden_count;
    const int32_t *forbidden;
    const double *penalties;
} WebRules;

void jumok_close(WebSession *w) {
    if (w->session) jumok_end(w->session);
    free(w->sentence);
    for (int part = ENCODER; part <= CROSS; part++) free(w->weights[part]), free(w->vectors[part]);
    free(w->request.watched), free(w->every), free(w->best.tokens), free(w->best.probabilities), free(w);
}

static int64_t layers_of(const Model *m, int64_t part) { return part == ENCODER ? m->encoder_blocks : m->decoder_blocks; }

/* Makes room for the weights of a part, (layers, heads, queries, keys), and for its vectors. Returns whether
 * there is memory. */
static int make_weights(WebSession *w, int64_t part, int64_t queries, int64_t keys) {
    const Model *m = w->model;
    int64_t size = m->heads * queries * keys, sizes[] = {queries * query_width(m), keys * key_width(m), keys * value_width(m)};
    float *next = w->weights[part] = calloc(layers_of(m, part) * size + 1, sizeof(float));
    float *vector = w->vectors[part] = calloc(layers_of(m, part) * (sizes[0] + sizes[1] + sizes[2]) + 1, sizeof(float));
    for (int64_t i = 0; next && vector && i < w->request.watched_count; i++) {
        Watched *each = w->request.watched + i;
        if (each->part != part) continue;
        each->weights = next, each->query = vector, each->key = vector + sizes[0], each->value = each->key + sizes[1];
        next += size, vector = each->value + sizes[2];
    }
    return next && vector;
}

/* Every attention: the layers of the encoder, of the decoder, and of its cross-attention. Returns whether there is
 * memory. */
static int watch_all(WebSession *w) {
    const Model *m = w->model;
    w->request.watched_count = m->encoder_blocks + 2 * m->decoder_blocks;
    w->request.watched = calloc(w->request.watched_count, sizeof(Watched)), w->every = malloc(sizeof(int32_t) * m->heads);
    if (!w->request.watched || !w->every) return 0;
    for (int32_t i = 0; i < m->heads; i++) w->every[i] = i;
    for (int64_t part = ENCODER, i = 0; part <= CROSS; part++)
        for (int64_t layer = 0; layer < layers_of(m, part); layer++)
            w->request.watched[i++] = (Watched){part, layer, m->heads, w->every, NULL, NULL, NULL, NULL};
    return 1;
}

/* Reads a source. NULL: memory is lacking. */
WebSession *jumok_open(const Model *m, const int32_t *source, int32_t count, const WebRules *r) {
    WebSession *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->model = m, w->offsets[1] = count, w->longest = r->longest;
    w->rules = (Rules){r->beam, r->minimum, r->enough, r->start, r->end, r->forbidden, r->forbidden_count, r->penalties};
    w->best.tokens = malloc(sizeof(int32_t) * (r->longest + 1));
    w->best.probabilities = malloc(sizeof(float) * (r->longest + 1));
    w->request = (Request){.count = 1, .tokens = source, .offsets = w->offsets, .longest = &w->longest,
                           .rules = &w->rules, .found = &w->best, .sentences = &w->sentence};
    if (w->best.tokens && w->best.probabilities && watch_all(w) && make_weights(w, ENCODER, count, count) &&
        (w->session = jumok_begin(m)) && !jumok_encode(w->session, &w->request)) return w;
    jumok_close(w);
    return NULL;
}

/* The best translation, without END. Returns the number of its tokens; -1: memory is lacking; -2: the weights hold
 * NaN. */
int32_t jumok_write(WebSession *w, int32_t *tokens) {
    Request *request = &w->request;
    if (jumok_search(w->session, &request, 1, NULL)) return -1;
    if (w->best.length < 0) return -2;
    memcpy(tokens, w->best.tokens, sizeof(int32_t) * w->best.length);
    return (int32_t)w->best.length;
}

/* Reads the source's target. values: the log-probability of each token, END's last; tokens and chances:
 * (length + 1, wanted), the most probable tokens after every prefix. Returns 0, or 1 where memory is lacking. */
int32_t jumok_look(WebSession *w, const int32_t *target, int32_t length, float *values, int32_t wanted,
                   int32_t *tokens, float *chances) {
    int64_t rows = length + 1, offsets[2] = {0, rows};
    int32_t *given = malloc(sizeof(int32_t) * 2 * rows), *following = given + rows, failed = 1;
    if (!given) return 1;
    given[0] = w->rules.start, following[length] = w->rules.end;
    memcpy(given + 1, target, sizeof(int32_t) * length), memcpy(following, target, sizeof(int32_t) * length);
    if (make_weights(w, DECODER, rows, rows) && make_weights(w, CROSS, rows, w->offsets[1]))
        failed = (int32_t)jumok_force(w->session, &w->request, given, following, offsets, w->model->decoder_blocks, values);
    free(given);
    if (failed) return failed;
    Session *s = w->session;
    Choice *choices = calloc(rows, sizeof *choices);
    if (!choices) return 1;
    for (int64_t row = 0; row < rows; row++) choices[row].wanted = wanted, choices[row].removed = -1;
    for (int64_t first = 0, count; first < rows; first += count) {
        count = rows - first < s->at_once ? rows - first : s->at_once;
        best_of(s, s->shown + first * panelled(s->output->inputs), count, choices, wanted,
                chances + first * wanted, tokens + first * wanted);
    }
    free(choices);
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
