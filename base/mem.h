#ifndef OZ0_BASE_MEM_H
#define OZ0_BASE_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Memory that is always had.  A reserve is set aside by mem_reserve(); when
 * malloc fails the reserve is given back to it and the process is told by
 * mem_low() to take no new work (LIFECYCLE L9.5).  Only when that is used up
 * too does the process end, by abort() after one line on stderr.
 * A process with a reserve also keeps some MiB of freed memory.
 */
void mem_reserve(size_t bytes);
bool mem_low(void);
/* Takes the reserve again after memory was freed; false: still none. */
bool mem_recover(void);

void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_array(size_t n, size_t size); /* zeroed; aborts on overflow */
void *mem_realloc(void *p, size_t size);
void *mem_dup(const void *p, size_t size);
char *mem_strdup(const char *s); /* NULL in, NULL out */
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *fmt, va_list ap)
    __attribute__((format(printf, 1, 0)));

#endif
