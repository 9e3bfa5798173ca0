/* A digest of bytes, to notice that a tensor was written to. 64 lanes of 32 bits: a lane takes in every
 * 64th word, w -> rotate((h ^ w), 13) * prime + 1, which loses no single change of a word, wherever it
 * is, and mixes several. out: 8 words of 64 bits. */
#define DIGEST_LANES 64

void digest_f32(const uint8_t *bytes, int64_t size, uint64_t *out) {
    uint32_t lanes[DIGEST_LANES];
    for (int j = 0; j < DIGEST_LANES; j++) lanes[j] = (uint32_t)(j + 1) * 0x9E3779B1u;
    int64_t block = DIGEST_LANES * (int64_t)sizeof(uint32_t), at = 0;
    for (; at <= size; at += block) {
        uint32_t words[DIGEST_LANES] = {0}; /* the last block is filled with zeros */
        memcpy(words, bytes + at, at + block <= size ? block : size - at);
        for (int j = 0; j < DIGEST_LANES; j++) {
            uint32_t mixed = lanes[j] ^ words[j];
            mixed = mixed << 13 | mixed >> 19;
            lanes[j] = mixed * 0x85EBCA77u + 1u;
        }
    }
    for (int k = 0; k < 8; k++) {
        uint64_t sum = (uint64_t)size + k;
        for (int j = k; j < DIGEST_LANES; j += 8) {
            sum = (sum ^ lanes[j]) * 0x9E3779B97F4A7C15u;
            sum ^= sum >> 29;
        }
        out[k] = sum;
    }
}
