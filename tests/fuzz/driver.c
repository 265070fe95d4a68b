/*
 * Runs a fuzzer without libFuzzer: each file of its corpus once, as a plain
 * test.  Without arguments the corpus is found by the program's own name
 * (fuzz_json: $OZ0_SRCDIR/tests/fuzz/corpus/json); else each argument is a
 * file or a directory of them.  Linked to every tests/fuzz/fuzz_*.c.
 */
#include <dirent.h>
#include <err.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned
run_file(const char *path, size_t size)
{
	FILE *f = fopen(path, "re");
	uint8_t *data = malloc(size > 0 ? size : 1); /* exact: ASan sees ends */

	if (f == NULL || data == NULL || fread(data, 1, size, f) != size)
		err(1, "%s", path);
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

static unsigned
run_path(const char *path)
{
	struct stat st;
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	if (stat(path, &st) == -1)
		err(1, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return run_file(path, (size_t)st.st_size);
	dir = opendir(path);
	if (dir == NULL)
		err(1, "%s", path);
	while ((entry = readdir(dir)) != NULL) {
		char below[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name)
		    >= (int)sizeof(below))
			errx(1, "%s/%s: too long", path, entry->d_name);
		n += run_path(below);
	}
	closedir(dir);
	return n;
}

static unsigned
run_own_corpus(const char *program)
{
	const char *top = getenv("OZ0_SRCDIR");
	const char *name = strrchr(program, '/');
	char path[PATH_MAX];

	name = name != NULL ? name + 1 : program;
	if (strncmp(name, "fuzz_", 5) != 0)
		errx(1, "%s: not named fuzz_*", name);
	if (snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s",
		top != NULL ? top : ".", name + 5)
	    >= (int)sizeof(path))
		errx(1, "%s: too long", name);
	return run_path(path);
}

int
main(int argc, char **argv)
{
	unsigned n = 0;

	if (argc == 1)
		n = run_own_corpus(argv[0]);
	for (int i = 1; i < argc; i++)
		n += run_path(argv[i]);
	printf("%u inputs\n", n);
	return n > 0 ? 0 : 1; /* a corpus that is empty tests nothing */
}
