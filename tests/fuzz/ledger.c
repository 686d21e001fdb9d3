/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - any bytes as another process' ledger: the first of the header, of the records, ports
 * and counters */
#include "restrack/ledger.h"

#include "fuzz.h"

static uint8_t *memory;

static void fill(struct input *in, size_t at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		memory[at + i] = take(in);
}

static void printable(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	FUZZ_CHECK(length < size);
	for (size_t i = 0; i < length; i++)
		FUZZ_CHECK((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	const struct ledger_identity identity = { .pid = 1, .comm = "fuzz" };
	struct ledger_reader reader;
	struct ledger_record record;
	struct ledger_port port;
	uint32_t cursor = 0;
	char name[LEDGER_COUNTER_NAME];
	uint64_t value;

	if (!memory && !(memory = aligned_alloc(4096, ledger_size())))
		abort();
	memset(memory, 0, LEDGER_RECORDS_AT + 16 * sizeof(struct ledger_record));
	FUZZ_CHECK(!ledger_format(memory, ledger_size(), &identity));
	/* A header that is right but for what the input says, or all as the input says. */
	if (take(&in) & 1)
		fill(&in, 0, sizeof(struct ledger_header));
	else
		((struct ledger_header *)(void *)memory)->records_used = take32(&in) % 40;
	fill(&in, LEDGER_RECORDS_AT, 4 * sizeof(struct ledger_record));
	fill(&in, LEDGER_PORTS_AT, 2 * sizeof(struct ledger_port));
	fill(&in, LEDGER_COUNTER_NAMES_AT, 2 * LEDGER_COUNTER_NAME);
	if (ledger_reader_open(&reader, memory, ledger_size()))
		return 0;
	printable(reader.header.comm, sizeof(reader.header.comm));
	for (unsigned i = 0; ledger_reader_next(&reader, &cursor, &record); i++) {
		FUZZ_CHECK(i < LEDGER_CAPACITY);
		FUZZ_CHECK(record.state == LEDGER_LIVE || record.state == LEDGER_DELETING);
		printable(record.name, sizeof(record.name));
	}
	for (uint32_t i = 0; i < LEDGER_PORTS + 2; i++) {
		if (!ledger_reader_port(&reader, i, &port))
			continue;
		printable(port.name, sizeof(port.name));
		printable(port.ifname, sizeof(port.ifname));
	}
	for (unsigned i = 0; i < LEDGER_COUNTERS + 2; i++)
		(void)ledger_reader_counter(&reader, i, name, &value);
	return 0;
}
