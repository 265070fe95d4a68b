/*
 * The checksum of the log's records.  zlib's own takes a fifth of what a call
 * costs oz0-journal; where the processor multiplies polynomials, 64 bytes are
 * folded at a time ("Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ", Intel 2009).  Run by the supervisor and oz0-journal.
 */
#include "wire/crc.h"

#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>

#define BLOCK ((size_t)16)
#define BLOCKS 4
#define TARGET __attribute__((target("pclmul,sse2")))

/*
 * x^(n + 32) and x^(n - 32) mod the polynomial, bits reflected, as the paper
 * gives them: they move what is folded n bits on.
 */
#define BY_512 _mm_set_epi64x(0x01c6e41596, 0x0154442bd4)
#define BY_128 _mm_set_epi64x(0x00ccaa009e, 0x01751997d0)
#define BY_64 _mm_set_epi64x(0, 0x0163cd6124)
/* The polynomial, and the quotient of x^64 by it. */
#define QUOTIENT _mm_set_epi64x(0x01f7011641, 0x01db710641)

TARGET static inline __m128i
load(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

TARGET static inline __m128i
fold(__m128i v, __m128i by, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(v, by, 0x00);
	__m128i high = _mm_clmulepi64_si128(v, by, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* The remainder of 128 bits: folded to 96, then to 64, and by Barrett. */
TARGET static inline uint32_t
reduce(__m128i v)
{
	const __m128i words = _mm_setr_epi32(~0, 0, ~0, 0);
	__m128i high, q;

	v = _mm_xor_si128(_mm_srli_si128(v, 8),
	    _mm_clmulepi64_si128(v, BY_128, 0x10));
	high = _mm_srli_si128(v, 4);
	v = _mm_clmulepi64_si128(_mm_and_si128(v, words), BY_64, 0x00);
	v = _mm_xor_si128(v, high);
	q = _mm_clmulepi64_si128(_mm_and_si128(v, words), QUOTIENT, 0x10);
	q = _mm_clmulepi64_si128(_mm_and_si128(q, words), QUOTIENT, 0x00);
	return (uint32_t)_mm_cvtsi128_si32(
	    _mm_srli_si128(_mm_xor_si128(v, q), 4));
}

/*
 * Folds all blocks of p, four at least, into one that leaves the same
 * remainder; the bytes behind them are the caller's.
 */
TARGET static uint32_t
crc_blocks(uint32_t crc, const unsigned char *p, size_t n)
{
	__m128i v[BLOCKS];

	for (size_t i = 0; i < BLOCKS; i++)
		v[i] = load(p + i * BLOCK);
	v[0] = _mm_xor_si128(v[0], _mm_cvtsi32_si128((int)~crc));
	p += sizeof(v);
	n -= sizeof(v);
	for (; n >= sizeof(v); p += sizeof(v), n -= sizeof(v))
		for (size_t i = 0; i < BLOCKS; i++)
			v[i] = fold(v[i], BY_512, load(p + i * BLOCK));
	for (size_t i = 1; i < BLOCKS; i++)
		v[0] = fold(v[0], BY_128, v[i]);
	for (; n >= BLOCK; p += BLOCK, n -= BLOCK)
		v[0] = fold(v[0], BY_128, load(p));
	return ~reduce(v[0]);
}

uint32_t
crc_update(uint32_t crc, const void *p, size_t n)
{
	const unsigned char *at = p;

	if (n >= BLOCKS * BLOCK && __builtin_cpu_supports("pclmul")) {
		size_t whole = n - n % BLOCK;

		crc = crc_blocks(crc, at, whole);
		at += whole;
		n -= whole;
	}
	return n != 0 ? (uint32_t)crc32_z(crc, at, n) : crc;
}
#else
uint32_t
crc_update(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32_z(crc, p, n);
}
#endif
