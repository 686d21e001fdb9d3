/* SPDX-License-Identifier: Apache-2.0 */
/* print.h - objects as lists of named values, printed as lines or as JSON */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum field_kind {
	FIELD_NUMBER,
	FIELD_HEX, /* text: 0x1f; JSON: "1f", as the rdma tool has it */
	FIELD_STRING,
	FIELD_SWITCH, /* text: on or off; JSON: a boolean */
	FIELD_LIST,   /* words separated by commas; JSON: an array of strings */
	FIELD_OWNER,  /* of the library itself: text [name], JSON name */
};

struct field {
	const char *key;
	enum field_kind kind;
	bool detail; /* on an indented line of its own, its key after "drv_" */
	bool hidden; /* from text */
	uint64_t number;
	char text[160];
};

#define LINE_FIELDS 40

/* One object. */
struct line {
	char head[112]; /* what text begins with; JSON leaves it out */
	unsigned count;
	struct field fields[LINE_FIELDS];
};

/* Add a field at the end; text is cut at the size of struct field. NULL when the line is full. */
struct field *line_number(struct line *line, const char *key, uint64_t value);
struct field *line_hex(struct line *line, const char *key, uint64_t value);
struct field *line_string(struct line *line, const char *key, const char *value);
struct field *line_switch(struct line *line, const char *key, bool value);
struct field *line_list(struct line *line, const char *key, const char *words);
struct field *line_owner(struct line *line, const char *key, const char *name);
/** line_detail() - the last field is a detail. */
void line_detail(struct line *line);
/** line_field() - the first field called @key, or NULL. */
const struct field *line_field(const struct line *line, const char *key);

/** struct filter - `key value` of a command line; the value a list, of numbers also with ranges. */
struct filter {
	const char *key, *value;
};
/** filter_valid_numbers() - digits, commas and hyphens that make sense. */
bool filter_valid_numbers(const char *value);
/** filter_match() - a line without the field does not match. */
bool filter_match(const struct filter *filter, const struct line *line);

struct printer {
	FILE *out;
	bool json, pretty, details;
	void *array; /* JSON so far */
};

/** printer_begin(), printer_end() - around the lines; false: out of memory or @out failed. */
bool printer_begin(struct printer *printer);
bool printer_line(struct printer *printer, const struct line *line);
bool printer_end(struct printer *printer);
/** printer_json() - any cJSON value, freed here. */
bool printer_json(FILE *out, void *json, bool pretty);

#endif
