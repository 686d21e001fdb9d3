/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - lines of fields as text and JSON */
#include "cli/print.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct field *add(struct line *line, const char *key, enum field_kind kind, uint64_t number,
			 const char *text)
{
	struct field *field;

	if (line->count == LINE_FIELDS)
		return NULL;
	field = &line->fields[line->count++];
	memset(field, 0, sizeof(*field));
	field->key = key;
	field->kind = kind;
	field->number = number;
	if (text)
		snprintf(field->text, sizeof(field->text), "%s", text);
	return field;
}

struct field *line_number(struct line *line, const char *key, uint64_t value)
{
	return add(line, key, FIELD_NUMBER, value, NULL);
}

struct field *line_hex(struct line *line, const char *key, uint64_t value)
{
	return add(line, key, FIELD_HEX, value, NULL);
}

struct field *line_string(struct line *line, const char *key, const char *value)
{
	return add(line, key, FIELD_STRING, 0, value);
}

struct field *line_switch(struct line *line, const char *key, bool value)
{
	return add(line, key, FIELD_SWITCH, value, value ? "on" : "off");
}

struct field *line_list(struct line *line, const char *key, const char *words)
{
	return add(line, key, FIELD_LIST, 0, words);
}

struct field *line_owner(struct line *line, const char *key, const char *name)
{
	return add(line, key, FIELD_OWNER, 0, name);
}

void line_detail(struct line *line)
{
	if (line->count)
		line->fields[line->count - 1].detail = true;
}

const struct field *line_field(const struct line *line, const char *key)
{
	for (unsigned i = 0; i < line->count; i++) {
		if (!strcmp(line->fields[i].key, key))
			return &line->fields[i];
	}
	return NULL;
}

/* "4", "4-7": the next range of a list; false when there is none. */
static bool next_range(const char **at, uint64_t *first, uint64_t *last)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	*first = *last = strtoull(*at, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return false;
		*last = strtoull(end + 1, &end, 10);
	}
	if (*end == ',' && end[1])
		end++;
	else if (*end)
		return false;
	*at = end;
	return true;
}

bool filter_valid_numbers(const char *value)
{
	uint64_t first, last;

	if (!*value)
		return false;
	while (*value) {
		if (!next_range(&value, &first, &last) || last < first)
			return false;
	}
	return true;
}

static bool match_range(const char *value, uint64_t low, uint64_t high)
{
	uint64_t first, last;

	while (*value && next_range(&value, &first, &last)) {
		if (low <= last && first <= high)
			return true;
	}
	return false;
}

static bool match_word(const char *value, const char *text)
{
	size_t length = strlen(text);

	for (;;) {
		size_t n = strcspn(value, ",");

		if (n == length && !strncasecmp(value, text, n))
			return true;
		if (!value[n])
			return false;
		value += n + 1;
	}
}

bool filter_match(const struct filter *filter, const struct line *line)
{
	const struct field *field = line_field(line, filter->key);
	uint64_t first, last;
	const char *at;

	if (!field)
		return false;
	switch (field->kind) {
	case FIELD_NUMBER:
		return match_range(filter->value, field->number, field->number);
	case FIELD_HEX: {
		char *end;
		uint64_t wanted = strtoull(filter->value, &end, 16);

		return !*end && end != filter->value && wanted == field->number;
	}
	case FIELD_LIST:
		at = field->text;
		while (*at && next_range(&at, &first, &last)) {
			if (match_range(filter->value, first, last))
				return true;
		}
		return false;
	case FIELD_STRING:
	case FIELD_SWITCH:
	case FIELD_OWNER:
		break;
	}
	return match_word(filter->value, field->text);
}

static void print_field(FILE *out, const struct field *field)
{
	switch (field->kind) {
	case FIELD_NUMBER:
		fprintf(out, "%s %" PRIu64 " ", field->key, field->number);
		break;
	case FIELD_HEX:
		fprintf(out, "%s 0x%" PRIx64 " ", field->key, field->number);
		break;
	case FIELD_OWNER:
		fprintf(out, "%s [%s] ", field->key, field->text);
		break;
	case FIELD_STRING:
	case FIELD_SWITCH:
	case FIELD_LIST:
		fprintf(out, "%s %s ", field->key, field->text);
		break;
	}
}

static bool text_line(struct printer *printer, const struct line *line)
{
	bool any = false;

	fprintf(printer->out, "%s ", line->head);
	for (unsigned i = 0; i < line->count; i++) {
		if (!line->fields[i].detail && !line->fields[i].hidden)
			print_field(printer->out, &line->fields[i]);
	}
	fputc('\n', printer->out);
	for (unsigned i = 0; printer->details && i < line->count; i++) {
		if (!line->fields[i].detail)
			continue;
		fputs(any ? "drv_" : "    drv_", printer->out);
		print_field(printer->out, &line->fields[i]);
		any = true;
	}
	if (any)
		fputc('\n', printer->out);
	return !ferror(printer->out);
}

static cJSON *json_list(const char *text)
{
	cJSON *array = cJSON_CreateArray();
	char word[64];

	while (array && *text) {
		size_t n = strcspn(text, ",");

		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		cJSON_AddItemToArray(array, cJSON_CreateString(word));
		text += n;
		if (*text)
			text++;
	}
	return array;
}

static cJSON *json_value(const struct field *field)
{
	char digits[24];

	switch (field->kind) {
	case FIELD_NUMBER:
		/* Not as a double: that would round large numbers. */
		snprintf(digits, sizeof(digits), "%" PRIu64, field->number);
		return cJSON_CreateRaw(digits);
	case FIELD_HEX:
		snprintf(digits, sizeof(digits), "%" PRIx64, field->number);
		return cJSON_CreateString(digits);
	case FIELD_SWITCH:
		return cJSON_CreateBool(field->number != 0);
	case FIELD_LIST:
		return json_list(field->text);
	case FIELD_STRING:
	case FIELD_OWNER:
		break;
	}
	return cJSON_CreateString(field->text);
}

bool printer_begin(struct printer *printer)
{
	printer->array = printer->json ? cJSON_CreateArray() : NULL;
	return !printer->json || printer->array;
}

bool printer_line(struct printer *printer, const struct line *line)
{
	cJSON *object;
	char key[48];

	if (!printer->json)
		return text_line(printer, line);
	object = cJSON_CreateObject();
	if (!object || !cJSON_AddItemToArray(printer->array, object)) {
		cJSON_Delete(object);
		return false;
	}
	for (unsigned i = 0; i < line->count; i++) {
		const struct field *field = &line->fields[i];

		if (field->detail && !printer->details)
			continue;
		snprintf(key, sizeof(key), "%s%s", field->detail ? "drv_" : "", field->key);
		if (!cJSON_AddItemToObject(object, key, json_value(field)))
			return false;
	}
	return true;
}

bool printer_json(FILE *out, void *json, bool pretty)
{
	char *text = json ? (pretty ? cJSON_Print(json) : cJSON_PrintUnformatted(json)) : NULL;

	if (text)
		fprintf(out, "%s\n", text);
	cJSON_free(text);
	cJSON_Delete(json);
	return text && !ferror(out);
}

bool printer_end(struct printer *printer)
{
	void *array = printer->array;

	printer->array = NULL;
	if (!printer->json)
		return !ferror(printer->out);
	return printer_json(printer->out, array, printer->pretty);
}
