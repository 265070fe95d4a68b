/*
 * The servers' filter in words, for `oz0-sandbox --explain`.
 *
 * Reads the same lists that the programs are made from.
 */
#include "sandbox/filter.h"

#include <string.h>

#include "sandbox/filter_list.h"

static void
put_names(struct buf *out, const char *const *names)
{
	size_t column = 0;

	for (size_t i = 0; names[i] != NULL; i++) {
		size_t n = strlen(names[i]);

		if (column == 0 || column + 1 + n > 76) {
			buf_puts(out, i == 0 ? "    " : "\n    ");
			column = 3;
		} else {
			buf_putc(out, ' ');
		}
		buf_puts(out, names[i]);
		column += 1 + n;
	}
	buf_putc(out, '\n');
}

void
filter_explain(struct buf *out)
{
	buf_puts(out,
	    "  calls of another architecture (i386, x32): not known (ENOSYS)\n"
	    "  refused (EPERM): clone and unshare with a namespace flag;\n"
	    "    ioctl TIOCSTI, TIOCLINUX, TIOCCONS\n"
	    "  not known (ENOSYS): personality other than the default\n"
	    "  refused (EAFNOSUPPORT): sockets other than Unix, IPv4, IPv6 "
	    "and\n    netlink for routes\n"
	    "  refused (EPERM):\n");
	put_names(out, filter_refused);
	buf_puts(out, "  allowed:\n");
	put_names(out, filter_known);
	buf_puts(out, "  every other call: not known (ENOSYS)\n");
}
