/*
 * Allocation for every process.  Nothing that the node has begun may fail for
 * want of a few bytes, so allocation does not fail: a reserve stands behind
 * malloc, and spending it is what tells a process to refuse new work.
 */
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *reserve;
static size_t reserve_size;

void
mem_reserve(size_t bytes)
{
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
	va_list again;
	char *s;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		abort();
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
