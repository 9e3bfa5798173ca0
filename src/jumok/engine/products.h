/* Sums of products, and how many of them fit into the registers, for each level of processor.
 *
 * Inputs are 8 bits without a sign, weights 8 bits with one. x86-64 without VNNI multiplies them as 16 bits
 * (pmaddwd): its product of bytes (pmaddubsw) would saturate at 2 * 255 * 127. All of them are exact, so
 * every level gives the same sums.
 */
#pragma once

#include "../kernels/vectors.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

/* A tile has at most ROWS rows, and WIDE(rows) vectors of a panel: its sums stay in registers, and there are
 * enough of them that none waits for the one before. ABREAST: heads whose values are summed together. */
#ifdef AVX512
#define ROWS 6
#define WIDE(rows) 4
#define ABREAST 4
#elif defined(__AVX2__)
#define ROWS 6
#define WIDE(rows) ((rows) == 1 ? 8 : (rows) < 4 ? 4 : 2)
#define ABREAST 2
#elif defined(__aarch64__)
#define ROWS 6
#define WIDE(rows) ((rows) == 1 ? 16 : (rows) < 4 ? 8 : 4)
#define ABREAST 2
#else
#define ROWS 3
#define WIDE(rows) ((rows) == 1 ? 8 : 4)
#define ABREAST 1
#endif

/* Piece: what one instruction adds to. Its arguments are the inputs, the same four for every output, and the
 * weights of as many outputs as it has sums. */
#if defined(AVX512) && defined(__AVX512VNNI__)
typedef __m512i Piece;
static inline Piece spread_four(uint32_t four) { return _mm512_set1_epi32((int)four); }
static inline Piece add_products(Piece sum, Piece four, Piece w) {
#ifdef __clang__
    return _mm512_dpbusd_epi32(sum, four, w); /* with assembly it would not unroll the widest tiles */
#else /* with the intrinsic gcc 12 copies sums to memory and back where a tile has many, at half the speed */
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(four), "v"(w));
    return sum;
#endif
}
#elif defined(AVX512)
typedef __m512i Piece;
static inline Piece spread_four(uint32_t four) { return _mm512_set1_epi32((int)four); }
static inline Piece add_products(Piece sum, Piece four, Piece w) {
    Piece even = _mm512_madd_epi16(_mm512_and_si512(four, _mm512_set1_epi16(255)),
                                   _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8));
    Piece odd = _mm512_madd_epi16(_mm512_srli_epi16(four, 8), _mm512_srai_epi16(w, 8));
    return _mm512_add_epi32(sum, _mm512_add_epi32(even, odd));
}
#elif defined(__AVX2__)
typedef __m256i Piece;
static inline Piece spread_four(uint32_t four) { return _mm256_set1_epi32((int)four); }
static inline Piece add_products(Piece sum, Piece four, Piece w) {
#if defined(__AVXVNNI__) && defined(__clang__)
    return _mm256_dpbusd_avx_epi32(sum, four, w);
#elif defined(__AVXVNNI__) /* as above */
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(four), "x"(w));
    return sum;
#else
    Piece even = _mm256_madd_epi16(_mm256_and_si256(four, _mm256_set1_epi16(255)),
                                   _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));
    Piece odd = _mm256_madd_epi16(_mm256_srli_epi16(four, 8), _mm256_srai_epi16(w, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
#endif
}
#elif defined(__SSE2__)
typedef __m128i Piece;
static inline Piece spread_four(uint32_t four) { return _mm_set1_epi32((int)four); }
static inline Piece add_products(Piece sum, Piece four, Piece w) {
    Piece even = _mm_madd_epi16(_mm_and_si128(four, _mm_set1_epi16(255)), _mm_srai_epi16(_mm_slli_epi16(w, 8), 8));
    Piece odd = _mm_madd_epi16(_mm_srli_epi16(four, 8), _mm_srai_epi16(w, 8));
    return _mm_add_epi32(sum, _mm_add_epi32(even, odd));
}
#elif defined(__wasm_simd128__)
typedef v128_t Piece;
static inline Piece spread_four(uint32_t four) { return wasm_i32x4_splat((int32_t)four); }
static inline Piece add_products(Piece sum, Piece four, Piece w) {
    Piece even = wasm_i32x4_dot_i16x8(wasm_v128_and(four, wasm_i16x8_splat(255)), wasm_i16x8_shr(wasm_i16x8_shl(w, 8), 8));
    Piece odd = wasm_i32x4_dot_i16x8(wasm_u16x8_shr(four, 8), wasm_i16x8_shr(w, 8));
    return wasm_i32x4_add(sum, wasm_i32x4_add(even, odd));
}
#elif defined(__ARM_FEATURE_MATMUL_INT8)
typedef int32x4_t Piece;
static inline Piece spread_four(uint32_t four) { return vreinterpretq_s32_u32(vdupq_n_u32(four)); }
static inline Piece add_products(Piece sum, Piece four, Piece w) {
    return vusdotq_s32(sum, vreinterpretq_u8_s32(four), vreinterpretq_s8_s32(w));
}
#else
typedef int32_t Piece __attribute__((vector_size(16)));
static inline Piece spread_four(uint32_t four) { return (Piece){} + (int32_t)four; }
static inline Piece add_products(Piece sum, Piece four, Piece w) {
    typedef uint32_t Bits __attribute__((vector_size(16)));
    for (int j = 0; j < 4; j++)
        sum += ((Piece)((Bits)w << (24 - 8 * j)) >> 24) * (Piece)((Bits)four >> 8 * j & 255u);
    return sum;
}
#endif

/* The lower bytes of words, which are at most 255. */
static inline bytes narrowed(words low) {
#if defined(__AVX2__) && !defined(AVX512) /* it packs within the halves of a register, which permutevar sorts */
    __m256i pairs = _mm256_packus_epi32((__m256i)low, (__m256i)low), fours = _mm256_packus_epi16(pairs, pairs);
    __m256i sorted = _mm256_permutevar8x32_epi32(fours, _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
    bytes packed;
    memcpy(&packed, &sorted, sizeof packed);
    return packed;
#else
    return __builtin_convertvector(low, bytes);
#endif
}
