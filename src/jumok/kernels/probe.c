/* What this processor has, and the operating system lets programs use: bits in the order of FEATURES in
 * levels.py. Compiled for the smallest processor, and loaded before any other library.
 *
 * The registers of AVX are saved by the operating system when it changes from one program to another; XCR0
 * says which it saves. (Intel's manual, volume 1, chapter 14.3 and 15.3.) On macOS the registers of AVX-512
 * are only enabled when they are first used, so the levels v4 are not chosen there.
 */
#include <stdint.h>

#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC
#endif

enum {
    SSE3, SSSE3, SSE4_1, SSE4_2, POPCNT, CX16, LAHF,
    AVX, AVX2, BMI1, BMI2, F16C, FMA, LZCNT, MOVBE, AVXVNNI,
    AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL, AVX512VNNI, AVX512BF16,
    DOTPROD, I8MM, BF16
};

static inline int64_t bit(int there, int feature) { return there ? (int64_t)1 << feature : 0; }

#if defined(__x86_64__)

#include <cpuid.h>

PUBLIC int64_t jumok_features(void) {
    uint32_t a, b, c, d, state = 0, unused;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    int64_t found = bit(c & 1, SSE3) | bit(c >> 9 & 1, SSSE3) | bit(c >> 19 & 1, SSE4_1) | bit(c >> 20 & 1, SSE4_2) |
                    bit(c >> 23 & 1, POPCNT) | bit(c >> 13 & 1, CX16) | bit(c >> 22 & 1, MOVBE);
    if (c >> 27 & 1) __asm__("xgetbv" : "=a"(state), "=d"(unused) : "c"(0)); /* the bit OSXSAVE */
    int wide = (state & 0x06) == 0x06, widest = wide && (state & 0xE0) == 0xE0;
    if (wide) found |= bit(c >> 28 & 1, AVX) | bit(c >> 29 & 1, F16C) | bit(c >> 12 & 1, FMA);
    if (__get_cpuid(0x80000001, &a, &b, &c, &d)) found |= bit(c & 1, LAHF) | bit(c >> 5 & 1, LZCNT);
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;
    found |= bit(b >> 3 & 1, BMI1) | bit(b >> 8 & 1, BMI2);
    if (wide) found |= bit(b >> 5 & 1, AVX2);
    if (widest)
        found |= bit(b >> 16 & 1, AVX512F) | bit(b >> 17 & 1, AVX512DQ) | bit(b >> 28 & 1, AVX512CD) |
                 bit(b >> 30 & 1, AVX512BW) | bit(b >> 31 & 1, AVX512VL) | bit(c >> 11 & 1, AVX512VNNI);
    if (a && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
        if (wide) found |= bit(a >> 4 & 1, AVXVNNI);
        if (widest) found |= bit(a >> 5 & 1, AVX512BF16);
    }
    return found;
}

#elif defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

PUBLIC int64_t jumok_features(void) {
    unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
    return bit(first >> 20 & 1, DOTPROD) | bit(second >> 13 & 1, I8MM) | bit(second >> 14 & 1, BF16);
}

#elif defined(__aarch64__) && defined(__APPLE__)

#include <stddef.h>
#include <sys/sysctl.h>

static int has(const char *name) {
    int value = 0;
    size_t size = sizeof value;
    return !sysctlbyname(name, &value, &size, NULL, 0) && value;
}

PUBLIC int64_t jumok_features(void) {
    return bit(has("hw.optional.arm.FEAT_DotProd"), DOTPROD) | bit(has("hw.optional.arm.FEAT_I8MM"), I8MM) |
           bit(has("hw.optional.arm.FEAT_BF16"), BF16);
}

#else

PUBLIC int64_t jumok_features(void) { return 0; }

#endif
