/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - targets that take any bytes, for libFuzzer and for the plain program in replay.c
 *
 * A target does with the bytes what an enemy could, and ends the process when a rule was broken.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                      \
 do {                                                                              \
  if (!(condition)) {                                                              \
   (void)fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
   abort();                                                                        \
  }                                                                                \
 } while (0)

/* What is left of the input; at its end only zeros come. */
struct input {
	const uint8_t *data;
	size_t left;
};

static inline uint8_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

static inline uint16_t take16(struct input *in)
{
	uint8_t high = take(in);

	return (uint16_t)(high << 8 | take(in));
}

static inline uint32_t take32(struct input *in)
{
	uint32_t high = take16(in);

	return high << 16 | take16(in);
}

static inline uint64_t take64(struct input *in)
{
	uint64_t high = take32(in);

	return high << 32 | take32(in);
}

#endif
