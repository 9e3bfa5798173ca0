/* The engine as a page calls it: one sentence at a time, and 32-bit numbers, which JavaScript has. */

#include "engine.c"

typedef struct {
    Session *session;
    int64_t layers[3], heads, query, key, value; /* of each part; the widths of its vectors; 0: they are not kept */
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
    if (w->session) jumok_release(&w->request), jumok_end(w->session);
    for (int part = ENCODER; part <= CROSS; part++) free(w->weights[part]), free(w->vectors[part]);
    free(w->request.watched), free(w->every), free(w->best.tokens), free(w->best.probabilities), free(w);
}

/* Makes room for the weights of a part, (layers, heads, queries, keys), and for its vectors. Returns whether
 * there is memory. */
static int make_weights(WebSession *w, int64_t part, int64_t queries, int64_t keys) {
    int64_t size = w->heads * queries * keys, sizes[] = {queries * w->query, keys * w->key, keys * w->value};
    float *next = w->weights[part] = calloc(w->layers[part] * size + 1, sizeof(float));
    float *vector = w->vectors[part] = calloc(w->layers[part] * (sizes[0] + sizes[1] + sizes[2]) + 1, sizeof(float));
    for (int64_t i = 0; next && vector && i < w->request.watched_count; i++) {
        Watched *each = w->request.watched + i;
        if (each->part != part) continue;
        each->weights = next, next += size;
        if (!w->query) continue;
        each->query = vector, each->key = vector + sizes[0], each->value = each->key + sizes[1], vector = each->value + sizes[2];
    }
    return next && vector;
}

/* Every attention: the layers of the encoder, of the decoder, and of its cross-attention. Returns whether there is
 * memory. */
static int watch_all(WebSession *w) {
    w->request.watched_count = w->layers[ENCODER] + w->layers[DECODER] + w->layers[CROSS];
    w->request.watched = calloc(w->request.watched_count + 1, sizeof(Watched)), w->every = malloc(sizeof(int32_t) * w->heads);
    if (!w->request.watched || !w->every) return 0;
    for (int32_t i = 0; i < w->heads; i++) w->every[i] = i;
    for (int64_t part = ENCODER, i = 0; part <= CROSS; part++)
        for (int64_t layer = 0; layer < w->layers[part]; layer++)
            w->request.watched[i++] = (Watched){part, layer, w->heads, w->every, NULL, NULL, NULL, NULL};
    return 1;
}

/* What there is to see of a model. */
static void know_transformer(WebSession *w, const Model *m) {
    w->layers[ENCODER] = m->encoder_blocks, w->layers[DECODER] = m->decoder_blocks, w->heads = m->heads;
    w->layers[CROSS] = m->decoder_blocks && m->decoder->cross_query.panels ? m->decoder_blocks : 0;
    w->query = query_width(m), w->key = key_width(m), w->value = value_width(m);
}

static void know_recurrent(WebSession *w, const Recurrent *m) { w->layers[CROSS] = !m->one_vector, w->heads = 1; }

/* Reads a source: `count` tokens, or vectors as wide as a Memory; 0: there is none. recurrent: whether the model is
 * an RNN. NULL: memory is lacking. */
WebSession *jumok_open(const void *model, int32_t recurrent, const int32_t *source, const float *memory, int32_t count,
                       const WebRules *r) {
    WebSession *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    recurrent ? know_recurrent(w, model) : know_transformer(w, model);
    w->offsets[1] = count, w->longest = r->longest;
    w->rules = (Rules){r->beam, r->minimum, r->enough, r->start, r->end, r->forbidden, r->forbidden_count, r->penalties};
    w->best.tokens = malloc(sizeof(int32_t) * (r->longest + 1));
    w->best.probabilities = malloc(sizeof(float) * (r->longest + 1));
    w->request = (Request){.count = 1, .tokens = source, .memory = memory, .offsets = w->offsets, .longest = &w->longest,
                           .rules = &w->rules, .found = &w->best, .sentences = &w->sentence};
    if (w->best.tokens && w->best.probabilities && watch_all(w) && make_weights(w, ENCODER, count, count) &&
        (w->session = recurrent ? jumok_begin_recurrent(model) : jumok_begin(model)) &&
        !jumok_encode(w->session, &w->request)) return w;
    jumok_close(w);
    return NULL;
}

/* Makes a step of the search. Returns 1 if it was the last one, and -1 where memory is lacking. */
int32_t jumok_advance(WebSession *w) {
    static const volatile int32_t one_step = 1;
    Request *request = &w->request;
    if (jumok_search(w->session, &request, 1, &one_step)) return -1;
    return !request->searched;
}

/* The best translation, without END, or while it is searched for the best beginning. Returns the number of its
 * tokens; -2: the weights hold NaN. */
int32_t jumok_written(const WebSession *w, int32_t *tokens) {
    int64_t length = w->request.searched ? w->sentence->length : w->best.length;
    if (length < 0) return -2;
    memcpy(tokens, w->request.searched ? w->sentence->tokens : w->best.tokens, sizeof(int32_t) * length);
    return (int32_t)length;
}

/* Reads `count` tokens of a text from `place` on. values: the log-probabilities of all tokens after the last of them.
 * Returns 0, or 1 where memory is lacking. */
int32_t jumok_next(WebSession *w, int32_t count, const int32_t *tokens, int32_t place, float *values) {
    return (int32_t)jumok_read(w->session, &w->request, count, tokens, place, values);
}

/* The `wanted` most probable tokens after each of these rows. Returns 0, or 1 where memory is lacking. */
static int32_t rank(WebSession *w, const int32_t *given, int64_t rows, int32_t wanted, int32_t *tokens, float *chances) {
    Session *s = w->session;
    Choice *choices = calloc(rows, sizeof *choices);
    if (!choices) return 1;
    for (int64_t row = 0; row < rows; row++) choices[row].wanted = wanted, choices[row].removed = -1;
    for (int64_t first = 0, count; first < rows; first += count) {
        const float *shown = s->shown + first * panelled(s->output->inputs);
        count = rows - first < s->at_once ? rows - first : s->at_once;
        if (s->family == &RECURRENT) { /* which shows one place at a time */
            s->list[0] = (Row){w->sentence, given[first], (int32_t)first, 0, NULL};
            s->family->step(s, 1, s->list), shown = s->shown, count = 1;
        }
        best_of(s, shown, count, choices, wanted, chances + first * wanted, tokens + first * wanted);
    }
    free(choices);
    return 0;
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
    if (make_weights(w, DECODER, rows, rows) && make_weights(w, CROSS, rows, w->offsets[1]) &&
        !jumok_force(w->session, &w->request, given, following, offsets, w->layers[DECODER], values))
        failed = rank(w, given, rows, wanted, tokens, chances);
    free(given);
    return failed;
}

/* What an encoder alone has written, (positions, dim). */
void jumok_shown(const WebSession *w, float *states) {
    const Model *m = w->session->model;
    for (int64_t i = 0; i < w->offsets[1]; i++)
        memcpy(states + i * m->true_dim, w->session->shown + i * panelled(m->dim), sizeof(float) * m->true_dim);
}

/* The weights of a part, (layers, heads, queries, keys): 0 the encoder's, 1 the decoder's, 2 of the source. */
const float *jumok_weights(const WebSession *w, int32_t part) { return w->weights[part]; }

/* The vectors of a part, layer by layer: queries, keys and values, each (positions, heads, dim). */
const float *jumok_vectors(const WebSession *w, int32_t part) { return w->vectors[part]; }

/* y = x W^T + b in float32; rows of x and y are filled up to panels. */
void jumok_linear(const Linear *layer, int32_t rows, const float *x, float *y) {
    Prepared prepared = {.floats_ = x};
    linear(&prepared, panelled(layer->inputs), rows, layer, y, 0);
}

/* The rows of a table that is stored in panels, as float32 and times a factor: (outputs, inputs). */
void jumok_table(const Linear *layer, float *table, float factor) {
    int64_t group = layer->kind >= INT8 ? 4 : layer->kind == BFLOAT16 ? 2 : 1, inputs = layer->inputs;
    for (int64_t row = 0; row < layer->outputs; row++)
        for (int64_t k = 0; k < inputs; k++) {
            int64_t place = row / PANEL * PANEL * inputs + k / group * PANEL * group + row % PANEL * group + k % group;
            float *value = table + row * inputs + k;
            if (layer->kind == INT8)
                *value = ((const int8_t *)layer->panels)[place] * layer->scale[row];
            else if (layer->kind == GROUPED)
                *value = ((const int8_t *)layer->panels)[place] *
                         layer->scale[row / PANEL * PANEL * (inputs / SHARING) + k / SHARING * PANEL + row % PANEL];
            else if (layer->kind == BFLOAT16)
                *value = one_bf16((const uint16_t *)layer->panels + place);
            else
                *value = ((const float *)layer->panels)[place];
            *value *= factor;
        }
}
