/* The hot loops over the texts of a corpus: their characters, their words, and hashes of both.
 *
 * Every function has a readable twin in Python, which texts.py names, and a test that they agree to the
 * bit. Texts follow one another, each ended by a line break: as code points of 32 bits, or as UTF-8 with
 * eight bytes more behind the last line break, which are read but mean nothing.
 */
#include <stdint.h>
#include <string.h>

#define ENDING 10
#define CLASSES 8
#define FUNCTIONS 16
#define RUN 4
#define LONGEST_SURE 256 /* bytes: no longer word is looked up */

/* counts[text][bit]: how many of its characters have this bit in `table`. */
void count_classes(const uint32_t *codes, int64_t size, const uint8_t *table, int64_t *counts) {
    uint64_t spread[256]; /* bit i of a byte as the lowest bit of byte i */
    for (int byte = 0; byte < 256; byte++) {
        spread[byte] = 0;
        for (int bit = 0; bit < CLASSES; bit++) spread[byte] |= (uint64_t)(byte >> bit & 1) << 8 * bit;
    }
    for (int64_t at = 0; at < size; counts += CLASSES) {
        for (int more = 1; more;) {
            uint64_t sums = 0;
            for (int steps = 0; steps < 255 && more; steps++, at++) {
                sums += spread[table[codes[at]]];
                more = codes[at] != ENDING;
            }
            for (int bit = 0; bit < CLASSES; bit++) counts[bit] += sums >> 8 * bit & 255;
        }
    }
}

/* seen[text]: the bits in `table` of all of its characters together. */
void see_kinds(const uint32_t *codes, int64_t size, const uint16_t *table, uint16_t *seen) {
    uint16_t bits = 0;
    for (int64_t at = 0; at < size; at++) {
        bits |= table[codes[at]];
        if (codes[at] == ENDING) {
            *seen++ = bits;
            bits = 0;
        }
    }
}

/* found[text]: whether a character with a bit of `first` stands before one with a bit of `second`. */
void see_pairs(const uint32_t *codes, int64_t size, const uint16_t *table, int64_t first, int64_t second,
               uint8_t *found) {
    uint16_t before = 0;
    int both = 0;
    for (int64_t at = 0; at < size; at++) {
        uint16_t here = table[codes[at]];
        both |= (before & first) && (here & second);
        before = here;
        if (codes[at] == ENDING) {
            *found++ = both;
            both = before = 0;
        }
    }
}

/* longest[text]: the most characters in a row without one of these bits. */
void measure_runs(const uint32_t *codes, int64_t size, const uint16_t *table, int64_t bits,
                  int64_t *longest) {
    int64_t begin = 0, most = 0;
    for (int64_t at = 0; at < size; at++) {
        if (!(table[codes[at]] & bits)) continue;
        if (at - begin > most) most = at - begin;
        begin = at + 1;
        if (codes[at] == ENDING) {
            *longest++ = most;
            most = 0;
        }
    }
}

/* minima[text][function]: made smaller by the hashes of the text's runs of four characters, which are
 * those with a number in `folded`; see near.py. */
void sign_texts(const uint32_t *codes, int64_t size, const uint32_t *folded, int64_t salt,
                const uint64_t *places, const uint32_t *factors, const uint32_t *addends,
                uint32_t *minima) {
    uint64_t line[256 + RUN];
    uint32_t factor[FUNCTIONS], addend[FUNCTIONS], least[FUNCTIONS];
    memcpy(factor, factors, sizeof factor);
    memcpy(addend, addends, sizeof addend);
    for (int64_t at = 0; at < size; minima += FUNCTIONS) {
        memcpy(least, minima, sizeof least);
        int64_t held = 0, runs = 0;
        for (int ended = 0; !ended;) {
            while (held < 256 && !ended) {
                ended = codes[at] == ENDING;
                line[held] = folded[codes[at++]];
                held += line[held] != 0;
            }
            int64_t ready = held - (RUN - 1); /* runs whose four characters are all here */
            if (ended) {
                for (int i = 0; i < RUN; i++) line[held + i] = 0;
                ready = held || runs ? held : 1; /* a text without any has the run of zeros */
            }
            for (int64_t i = 0; i < ready; i++) {
                uint64_t hash = (uint64_t)salt;
                for (int place = 0; place < RUN; place++) hash += line[i + place] * places[place];
                hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u;
                uint32_t run = hash >> 32;
                for (int f = 0; f < FUNCTIONS; f++) {
                    uint32_t value = run * factor[f] + addend[f];
                    least[f] = value < least[f] ? value : least[f];
                }
            }
            if (!ended) {
                runs += ready;
                memmove(line, line + ready, (held - ready) * sizeof *line);
                held -= ready;
            }
        }
        memcpy(minima, least, sizeof least);
    }
}

/* A table of words. Word i has hashes[i], and the bytes of the pool from ends[i - 1] to ends[i];
 * slots, a power of two, hold i + 1 where its hash leads or behind, and 0 where there is none. */
typedef struct {
    int32_t *slots;
    uint64_t *hashes;
    int64_t *ends;
    uint8_t *pool;
    int64_t slot_count, word_room, pool_room, known;
} Words;

static uint64_t mixed(uint64_t hash, uint64_t part) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

/* Reads up to seven bytes beyond the word (on a machine that begins numbers with their lowest byte). */
static uint64_t hash_of(const uint8_t *word, int64_t size) {
    uint64_t hash = (uint64_t)size, part;
    for (; size >= 8; size -= 8, word += 8) {
        memcpy(&part, word, 8);
        hash = mixed(hash, part);
    }
    if (size) {
        memcpy(&part, word, 8);
        hash = mixed(hash, part & (((uint64_t)1 << 8 * size) - 1));
    }
    return mixed(hash, 0);
}

/* The slot of a word, or the empty one where it belongs. */
static int64_t slot_of(const Words *words, const uint8_t *word, int64_t size, uint64_t hash) {
    int64_t mask = words->slot_count - 1, at = hash & mask;
    for (; words->slots[at]; at = (at + 1) & mask) {
        int64_t number = words->slots[at] - 1;
        if (words->hashes[number] != hash) continue;
        int64_t begin = number ? words->ends[number - 1] : 0;
        if (words->ends[number] - begin == size && !memcmp(words->pool + begin, word, size)) break;
    }
    return at;
}

/* Puts all words into empty slots. */
void place_words(Words *words) {
    int64_t mask = words->slot_count - 1;
    for (int64_t number = 0; number < words->known; number++) {
        int64_t at = words->hashes[number] & mask;
        while (words->slots[at]) at = (at + 1) & mask;
        words->slots[at] = (int32_t)number + 1;
    }
}

/* The numbers of the words of texts, which a space or a line break ends, and how many words each text
 * has; new words are added. Returns the bytes that were read: whole texts, as far as there was room. */
int64_t number_words(const uint8_t *bytes, int64_t size, Words *words, int32_t *numbers,
                     int64_t *counts) {
    int64_t begin = 0, whole = 0, count = 0;
    for (int64_t at = 0; at < size; at++) {
        if (bytes[at] != ' ' && bytes[at] != ENDING) continue;
        const uint8_t *word = bytes + begin;
        int64_t length = at - begin;
        uint64_t hash = hash_of(word, length);
        int64_t slot = slot_of(words, word, length, hash);
        if (!words->slots[slot]) {
            int64_t used = words->known ? words->ends[words->known - 1] : 0;
            if (words->known == words->word_room || used + length > words->pool_room) return whole;
            memcpy(words->pool + used, word, length);
            words->hashes[words->known] = hash;
            words->ends[words->known] = used + length;
            words->slots[slot] = (int32_t)++words->known;
        }
        *numbers++ = words->slots[slot] - 1;
        count++;
        begin = at + 1;
        if (bytes[at] == ENDING) {
            *counts++ = count;
            count = 0;
            whole = begin;
        }
    }
    return whole;
}

/* The values of the words of texts one after another, and how many each text has. Those of word i are
 * known[first[i]] to known[first[i + 1] - 1]. */
void spell_words(const int32_t *numbers, const int64_t *counts, int64_t texts, const int64_t *first,
                 const uint32_t *known, uint32_t *values, int64_t *lengths) {
    for (int64_t text = 0; text < texts; text++) {
        uint32_t *begin = values;
        for (int64_t i = 0; i < counts[text]; i++, numbers++)
            for (int64_t at = first[*numbers]; at < first[*numbers + 1]; at++) *values++ = known[at];
        lengths[text] = values - begin;
    }
}

static int64_t write_utf8(uint32_t code, uint8_t *to) {
    if (code < 0x80) return to[0] = code, 1;
    if (code < 0x800) return to[0] = 0xC0 | code >> 6, to[1] = 0x80 | (code & 63), 2;
    if (code < 0x10000)
        return to[0] = 0xE0 | code >> 12, to[1] = 0x80 | (code >> 6 & 63), to[2] = 0x80 | (code & 63), 3;
    to[0] = 0xF0 | code >> 18;
    to[1] = 0x80 | (code >> 12 & 63);
    to[2] = 0x80 | (code >> 6 & 63);
    to[3] = 0x80 | (code & 63);
    return 4;
}

/* counts[text]: its words, how many different ones of them are in the table, and its characters whose
 * lower case depends on others. `lower`: of each code point, 0 for a space, UINT32_MAX where it depends.
 * latest: one number for each word of the table, all negative. */
void count_known(const uint32_t *codes, int64_t size, const uint32_t *lower, const Words *words,
                 int64_t *latest, int64_t *counts) {
    uint8_t word[LONGEST_SURE + 16] = {0};
    int64_t length = 0, text = 0;
    for (int64_t at = 0; at < size; at++) {
        uint32_t code = lower[codes[at]];
        if (code) {
            counts[2] += code == UINT32_MAX;
            if (code != UINT32_MAX && length < LONGEST_SURE) length += write_utf8(code, word + length);
            continue;
        }
        if (length) {
            counts[0]++;
            int32_t found = words->slots[slot_of(words, word, length, hash_of(word, length))];
            if (found && length < LONGEST_SURE && latest[found - 1] != text) {
                latest[found - 1] = text;
                counts[1]++;
            }
        }
        length = 0;
        if (codes[at] == ENDING) {
            counts += 3;
            text++;
        }
    }
}

/* BLAKE2b with a digest of eight bytes (RFC 7693), without a key. */
static const uint64_t BLAKE_START[8] = {
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
};
static const uint8_t BLAKE_ORDER[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint64_t turned(uint64_t word, int by) { return word >> by | word << (64 - by); }

static void stir(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x;
    v[d] = turned(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = turned(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = turned(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = turned(v[b] ^ v[c], 63);
}

static void compress(uint64_t *state, const uint8_t *block, uint64_t read, int last) {
    uint64_t m[16], v[16];
    memcpy(m, block, 128);
    memcpy(v, state, 64);
    memcpy(v + 8, BLAKE_START, 64);
    v[12] ^= read;
    if (last) v[14] = ~v[14];
    for (int round = 0; round < 12; round++) {
        const uint8_t *s = BLAKE_ORDER[round % 10];
        for (int i = 0; i < 4; i++) stir(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
        for (int i = 0; i < 4; i++)
            stir(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]],
                 m[s[9 + 2 * i]]);
    }
    for (int i = 0; i < 8; i++) state[i] ^= v[i] ^ v[8 + i];
}

/* digests[text]: of its bytes, without the line break. */
void digest_texts(const uint8_t *bytes, int64_t size, uint64_t *digests) {
    for (int64_t begin = 0; begin < size;) {
        const uint8_t *end = memchr(bytes + begin, ENDING, size - begin);
        int64_t length = end - (bytes + begin), read = 0;
        uint64_t state[8];
        uint8_t block[128] = {0};
        memcpy(state, BLAKE_START, 64);
        state[0] ^= 0x01010008;
        for (; length - read > 128; read += 128)
            compress(state, bytes + begin + read, (uint64_t)read + 128, 0);
        memcpy(block, bytes + begin + read, length - read);
        compress(state, block, (uint64_t)length, 1);
        *digests++ = state[0];
        begin += length + 1;
    }
}
