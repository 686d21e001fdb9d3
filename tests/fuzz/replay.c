/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - a target without libFuzzer: the files of a corpus, and then as many inputs made of
 * them by chance
 *
 * Usage: fuzz-NAME [-n COUNT] FILE-OR-DIRECTORY...
 * ADVERB_SEED replays the chance. On a crash the last input lies in the file that ADVERB_FUZZ_LAST
 * names, if set.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "unit/seed.h"

#define LONGEST 4096

struct blob {
	size_t size;
	uint8_t data[LONGEST];
};

static struct blob *corpus;
static unsigned count;

static void load(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct blob *blob;

	if (!file) {
		perror(path);
		exit(2);
	}
	corpus = realloc(corpus, (count + 1) * sizeof(*corpus));
	if (!corpus)
		exit(2);
	blob = &corpus[count++];
	blob->size = fread(blob->data, 1, LONGEST, file);
	(void)fclose(file);
}

static void load_all(const char *path)
{
	struct dirent *entry;
	char name[4096];
	DIR *directory = opendir(path);

	if (!directory) {
		load(path);
		return;
	}
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		load(name);
	}
	(void)closedir(directory);
}

/* The input is copied to memory of just its size, so that a sanitizer sees whoever reads on. */
static void try(const struct blob *blob)
{
	const char *last = getenv("ADVERB_FUZZ_LAST");
	uint8_t *exact = malloc(blob->size ? blob->size : 1);

	if (!exact)
		exit(2);
	memcpy(exact, blob->data, blob->size);
	if (last) {
		FILE *file = fopen(last, "wb");

		if (file) {
			(void)fwrite(blob->data, 1, blob->size, file);
			(void)fclose(file);
		}
	}
	(void)LLVMFuzzerTestOneInput(exact, blob->size);
	free(exact);
}

static void change(struct random *r, struct blob *blob)
{
	for (unsigned changes = 1 + random_below(r, 8); changes; changes--) {
		size_t at = blob->size ? random_below(r, (uint32_t)blob->size) : 0;
		size_t length = 1 + random_below(r, 32);
		const struct blob *other = &corpus[random_below(r, count)];

		switch (random_below(r, 6)) {
		case 0: /* a bit */
			blob->data[at] ^= (uint8_t)(1u << random_below(r, 8));
			break;
		case 1: /* a byte */
			blob->data[at] = (uint8_t)random_next(r);
			break;
		case 2: /* cut off */
			blob->size = at;
			break;
		case 3: /* more of another */
			if (length > other->size)
				length = other->size;
			if (blob->size + length > LONGEST)
				break;
			memcpy(blob->data + blob->size, other->data, length);
			blob->size += length;
			break;
		case 4: /* a piece moves */
			if (at + length > blob->size)
				break;
			memmove(blob->data + random_below(r, (uint32_t)(blob->size - length + 1)),
				blob->data + at, length);
			break;
		default: /* new bytes at the end */
			for (; length && blob->size < LONGEST; length--)
				blob->data[blob->size++] = (uint8_t)random_next(r);
			break;
		}
	}
}

int main(int argc, char **argv)
{
	struct blob *blob = malloc(sizeof(*blob));
	unsigned long tries = 0;
	struct random r;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-n") && i + 1 < argc)
			tries = strtoul(argv[++i], NULL, 0);
		else
			load_all(argv[i]);
	}
	if (!blob || !count) {
		(void)fprintf(stderr, "usage: %s [-n COUNT] FILE-OR-DIRECTORY...\n", argv[0]);
		return 2;
	}
	seed(&r);
	for (unsigned i = 0; i < count; i++)
		try(&corpus[i]);
	for (unsigned long i = 0; i < tries; i++) {
		*blob = corpus[random_below(&r, count)];
		change(&r, blob);
		try(blob);
	}
	(void)printf("%u files, %lu inputs made of them\n", count, tries);
	free(blob);
	free(corpus);
	return 0;
}
