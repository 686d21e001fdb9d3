/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - the table of verdicts, and telling one */
#include "rvt/verdict.h"

#include <errno.h>

#include "rvt/device.h"

static const struct rvt_verdict_row rows[] = {
#define VERDICT(name, error, nak, status, event, sentence) \
 [RVT_##name] = { #name, error, nak, status, event, sentence },
#include "rvt/verdict.def"
#undef VERDICT
};

const struct rvt_verdict_row *rvt_verdict_row(unsigned verdict)
{
	return &rows[verdict < RVT_VERDICT_COUNT ? verdict : RVT_OK];
}

int rvt_refuse(struct rvt_device *device, enum rvt_verdict verdict, struct restrack_entry *object,
	       uint64_t value1, uint64_t value2)
{
	device->observer->cause(device->observer->context, verdict, object, value1, value2);
	return -rvt_verdict_row(verdict)->error;
}
