/* What queries and keys are put through before they are compared: RMS norm, rotary positions.
 *
 * Tensors are (batch, heads, positions, dim), read as they lie; dim is a multiple of BLOCK. */

/* y = x / rms(x) * gain, rms(x) = sqrt(mean(x^2) + epsilon); rate: 1 / rms of each vector */
void F(rms_forward)(const TYPE *x, const TYPE *gain, TYPE *y, float *rate, const Sizes *size, const Strides *stride,
                    double epsilon) {
    const Strides *sx = stride, *sy = stride + 1;
    int64_t dim = size->dim;
    for (int64_t b = 0; b < size->batch; b++)
        for (int64_t p = 0; p < size->queries; p++)
            for (int64_t h = 0; h < size->heads; h++) {
                const TYPE *from = x + b * sx->batch + h * sx->head + p * sx->position;
                TYPE *to = y + b * sy->batch + h * sy->head + p * sy->position;
                floats squares = {};
                for (int64_t d = 0; d < dim; d += LANES) {
                    floats v = F(load)(from + d);
                    squares += v * v;
                }
                float inverse = 1.0f / sqrtf(total_of(squares) / dim + (float)epsilon);
                for (int64_t d = 0; d < dim; d += LANES)
                    F(store)(to + d, F(load)(from + d) * inverse * F(load)(gain + d));
                *rate++ = inverse;
            }
}

/* d_x = (s - u mean(s u)) rate with u = x rate, s = gain d_y; d_gain is float32 and starts at zero */
void F(rms_backward)(const TYPE *x, const TYPE *gain, const float *rate, const TYPE *d_y, TYPE *d_x, float *d_gain,
                     const Sizes *size, const Strides *stride) {
    const Strides *sx = stride, *sy = stride + 1, *tx = stride + 2;
    int64_t dim = size->dim;
    for (int64_t b = 0; b < size->batch; b++)
        for (int64_t p = 0; p < size->queries; p++)
            for (int64_t h = 0; h < size->heads; h++, rate++) {
                const TYPE *from = x + b * sx->batch + h * sx->head + p * sx->position;
                const TYPE *slopes = d_y + b * sy->batch + h * sy->head + p * sy->position;
                TYPE *to = d_x + b * tx->batch + h * tx->head + p * tx->position;
                floats dot = {};
                for (int64_t d = 0; d < dim; d += LANES) {
                    floats unit = F(load)(from + d) * *rate, slope = F(load)(slopes + d);
                    store_f32(d_gain + d, load_f32(d_gain + d) + slope * unit);
                    dot += slope * F(load)(gain + d) * unit;
                }
                float lean = total_of(dot) / dim;
                for (int64_t d = 0; d < dim; d += LANES) {
                    floats unit = F(load)(from + d) * *rate, slope = F(load)(slopes + d) * F(load)(gain + d);
                    F(store)(to + d, (slope - unit * lean) * *rate);
                }
            }
}

/* The pair (2i, 2i + 1) of each vector turned by the angle of its position, whose cosine and sine are float32
 * (positions, dim / 2); direction: 1, or -1 for the way back, which is also the gradient's. */
void F(turn)(const TYPE *x, const float *cosine, const float *sine, TYPE *y, const Sizes *size,
             const Strides *stride, double direction) {
    const Strides *sx = stride, *sy = stride + 1;
    int64_t dim = size->dim;
    float *along = aligned_alloc(64, sizeof(float) * 2 * dim), *across = along + dim;
    for (int64_t p = 0; p < size->queries; p++) {
        for (int64_t i = 0; i < dim / 2; i++) {
            float c = cosine[p * (dim / 2) + i], s = sine[p * (dim / 2) + i] * (float)direction;
            along[2 * i] = along[2 * i + 1] = c;
            across[2 * i] = -s;
            across[2 * i + 1] = s;
        }
        for (int64_t b = 0; b < size->batch; b++)
            for (int64_t h = 0; h < size->heads; h++) {
                const TYPE *from = x + b * sx->batch + h * sx->head + p * sx->position;
                TYPE *to = y + b * sy->batch + h * sy->head + p * sy->position;
                for (int64_t d = 0; d < dim; d += LANES) {
                    floats here = F(load)(from + d), swapped = PICK(here, here, NEIGHBOURS);
                    F(store)(to + d, here * load_f32(along + d) + swapped * load_f32(across + d));
                }
            }
    }
    free(along);
}
