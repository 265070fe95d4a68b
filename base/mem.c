/*
 * Allocation for every process.  Nothing that the node has begun may fail for
 * want of a few bytes, so allocation does not fail: a reserve stands behind
 * malloc, and spending it is what tells a process to refuse new work.
 */
#include "base/mem.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Freed memory up to this stays: messages of some MiB come and go, and each
 * page given back is cleared and mapped again for the next one. */
#define KEEP_FREE (16 * 1024 * 1024)

static void *reserve;
static size_t reserve_size;

void
mem_reserve(size_t bytes)
{
	/* fixed, or malloc moves them by itself */
	mallopt(M_TRIM_THRESHOLD, KEEP_FREE);
	mallopt(M_MMAP_THRESHOLD, KEEP_FREE);
	free(reserve);
	reserve_size = bytes;
	reserve = malloc(bytes);
	if (reserve != NULL)
		memset(reserve, 0, bytes); /* touched, so that it is ours */
}

bool
mem_low(void)
{
	return reserve_size != 0 && reserve == NULL;
}

bool
mem_recover(void)
{
	if (mem_low())
		mem_reserve(reserve_size);
	return !mem_low();
}

static void
spend_reserve(void)
{
	static const char msg[] = "<2>out of memory, reserve used up\n";

	if (reserve == NULL) {
		if (write(STDERR_FILENO, msg, sizeof(msg) - 1) < 0)
			abort();
		abort();
	}
	free(reserve);
	reserve = NULL;
}

void *
mem_alloc(size_t size)
{
	void *p;

	while ((p = malloc(size != 0 ? size : 1)) == NULL)
		spend_reserve();
	return p;
}

void *
mem_zalloc(size_t size)
{
	return mem_array(1, size);
}

void *
mem_array(size_t n, size_t size)
{
	void *p;

	if (size != 0 && n > SIZE_MAX / size)
		abort();
	while ((p = calloc(n != 0 ? n : 1, size != 0 ? size : 1)) == NULL)
		spend_reserve();
	return p;
}

void *
mem_realloc(void *old, size_t size)
{
	void *p;

	while ((p = realloc(old, size != 0 ? size : 1)) == NULL)
		spend_reserve();
	return p;
}

void *
mem_dup(const void *p, size_t size)
{
	void *copy = mem_alloc(size);

	if (size != 0)
		memcpy(copy, p, size);
	return copy;
}

char *
mem_strdup(const char *s)
{
	return s == NULL ? NULL : mem_dup(s, strlen(s) + 1);
}

char *
mem_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = mem_alloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *
mem_vprintf(const char *fmt, va_list ap)
{
	char text[256]; /* most fit: formatted once, not twice */
	va_list again;
	char *s;
	int n;

	va_copy(again, ap);
	n = vsnprintf(text, sizeof(text), fmt, again);
	va_end(again);
	if (n < 0)
		abort();
	if ((size_t)n < sizeof(text))
		return mem_dup(text, (size_t)n + 1);
	s = mem_alloc((size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	return s;
}

char *
mem_printf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = mem_vprintf(fmt, ap);
	va_end(ap);
	return s;
}
