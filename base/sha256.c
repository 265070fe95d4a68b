/*
 * SHA-256, by which calls know each other's arguments: one for each call that
 * is accepted.  libmd's, which was a tenth of what oz0d's own code costs for
 * a call, but where the processor has instructions for it.
 */
#include "base/sha256.h"

#include <endian.h>
#include <sha2.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK ((size_t)64)

void
sha256_portable(const void *p, size_t n, uint8_t ret[SHA256_LEN])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, p, n);
	SHA256Final(ret, &sha);
}

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("sha,sse4.1")))

/* FIPS 180-4 §4.2.2 */
static const uint32_t constants[64] __attribute__((aligned(16))) = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

/* The working variables a to h (§6.2), as the instructions want them. */
struct state {
	__m128i abef, cdgh;
};

TARGET static inline __m128i
load(const void *p)
{
	return _mm_loadu_si128(p);
}

/* Words 16 back, 12 back, 8 back and 4 back: the next four of the schedule. */
TARGET static inline __m128i
schedule(__m128i w16, __m128i w12, __m128i w8, __m128i w4)
{
	__m128i w = _mm_sha256msg1_epu32(w16, w12);

	return _mm_sha256msg2_epu32(
	    _mm_add_epi32(w, _mm_alignr_epi8(w4, w8, 4)), w4);
}

TARGET static void
add_blocks(struct state *st, const uint8_t *p, size_t n)
{
	const __m128i big_endian =
	    _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);

	for (; n >= BLOCK; p += BLOCK, n -= BLOCK) {
		struct state s = *st;
		__m128i w[4];

		for (size_t i = 0; i < 16; i++) {
			__m128i k;

			if (i < 4)
				w[i] = _mm_shuffle_epi8(
				    load(p + 16 * i), big_endian);
			else
				w[i % 4] = schedule(w[i % 4], w[(i + 1) % 4],
				    w[(i + 2) % 4], w[(i + 3) % 4]);
			k = _mm_add_epi32(w[i % 4], load(constants + 4 * i));
			s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, k);
			s.abef = _mm_sha256rnds2_epu32(
			    s.abef, s.cdgh, _mm_shuffle_epi32(k, 0x0e));
		}
		st->abef = _mm_add_epi32(st->abef, s.abef);
		st->cdgh = _mm_add_epi32(st->cdgh, s.cdgh);
	}
}

TARGET static void
by_instructions(const void *p, size_t n, uint8_t ret[SHA256_LEN])
{
	const __m128i reversed =
	    _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
	struct state st = {
		_mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f,
		    (int)0x9b05688c),
		_mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab,
		    0x5be0cd19)
	};
	uint64_t bits = htobe64((uint64_t)n * 8);
	uint8_t last[2 * BLOCK] = { 0 };
	size_t rest = n % BLOCK, size;

	add_blocks(&st, p, n);
	/* §5.1.1: a bit, zeroes, and the length at the end of a block */
	if (rest != 0)
		memcpy(last, (const uint8_t *)p + n - rest, rest);
	last[rest] = 0x80;
	size = rest + 1 + sizeof(bits) <= BLOCK ? BLOCK : 2 * BLOCK;
	memcpy(last + size - sizeof(bits), &bits, sizeof(bits));
	add_blocks(&st, last, size);
	_mm_storeu_si128((__m128i *)(void *)ret,
	    _mm_shuffle_epi8(_mm_unpackhi_epi64(st.cdgh, st.abef), reversed));
	_mm_storeu_si128((__m128i *)(void *)(ret + 16),
	    _mm_shuffle_epi8(_mm_unpacklo_epi64(st.cdgh, st.abef), reversed));
}

static bool
look_at_processor(void)
{
	unsigned a, b, c, d;

	return __builtin_cpu_supports("sse4.1") &&
	    __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}

/* Asked once: on a virtual machine the question is a trap. */
static bool
has_instructions(void)
{
	static enum { ASK, YES, NO } known;

	if (known == ASK)
		known = look_at_processor() ? YES : NO;
	return known == YES;
}

void
sha256(const void *p, size_t n, uint8_t ret[SHA256_LEN])
{
	if (has_instructions())
		by_instructions(p, n, ret);
	else
		sha256_portable(p, n, ret);
}
#else
void
sha256(const void *p, size_t n, uint8_t ret[SHA256_LEN])
{
	sha256_portable(p, n, ret);
}
#endif
