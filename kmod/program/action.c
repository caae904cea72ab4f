// SPDX-License-Identifier: GPL-2.0
/*
 * program/action.c: the kinds of actions, one row each.
 *
 * Context: process, while an image is checked.
 */
#include "program/action.h"

static const struct kinst_action_kind kinds[] = {
	{ KINST_ACT_DIFEXPR, TAKES_ANY, RECORD_DIFO, .key = true },
	{ KINST_ACT_EXIT, TAKES_VALUE, RECORD_BYTES, .bytes = 4 },
	{ KINST_ACT_PRINTF, TAKES_ANY, RECORD_DIFO },
	{ KINST_ACT_PRINTA, TAKES_NONE, RECORD_BYTES, .bytes = 8 },
	{ KINST_ACT_LIBACT, TAKES_MAYBE, RECORD_BYTES, .bytes = 8 },
	{ KINST_ACT_TRACEMEM, TAKES_ADDRESS, RECORD_ARG },
	{ KINST_ACT_TRACEMEM_DYN, TAKES_VALUE, RECORD_BYTES, .bytes = 8 },
	{ KINST_ACT_PRINTM, TAKES_VALUE, RECORD_COUNTED },
	{ KINST_ACT_USTACK, TAKES_NONE, RECORD_USER_FRAMES, .key = true },
	{ KINST_ACT_USYM, TAKES_VALUE, RECORD_BYTES, .bytes = 16, .key = true },
	{ KINST_ACT_UMOD, TAKES_VALUE, RECORD_BYTES, .bytes = 16, .key = true },
	{ KINST_ACT_UADDR, TAKES_VALUE, RECORD_BYTES, .bytes = 16, .key = true },
	{ KINST_ACT_STOP, TAKES_NONE, RECORD_BYTES },
	{ KINST_ACT_RAISE, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_SYSTEM, TAKES_ANY, RECORD_DIFO },
	{ KINST_ACT_FREOPEN, TAKES_ANY, RECORD_DIFO },
	{ KINST_ACT_STACK, TAKES_NONE, RECORD_FRAMES, .key = true },
	{ KINST_ACT_SYM, TAKES_VALUE, RECORD_BYTES, .bytes = 8, .key = true },
	{ KINST_ACT_MOD, TAKES_VALUE, RECORD_BYTES, .bytes = 8, .key = true },
	{ KINST_ACT_BREAKPOINT, TAKES_NONE, RECORD_BYTES },
	{ KINST_ACT_PANIC, TAKES_NONE, RECORD_BYTES },
	{ KINST_ACT_CHILL, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_SPECULATE, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_COMMIT, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_DISCARD, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_COUNT, TAKES_NONE, RECORD_BYTES },
	{ KINST_ACT_MIN, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_MAX, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_AVG, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_SUM, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_STDDEV, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_QUANTIZE, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_LQUANTIZE, TAKES_VALUE, RECORD_BYTES },
	{ KINST_ACT_LLQUANTIZE, TAKES_VALUE, RECORD_BYTES },
};

const struct kinst_action_kind *kinst_action_kind(u32 kind)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].kind == kind)
			return &kinds[i];
	return NULL;
}

static bool is_within(u64 value, u64 most)
{
	return value && value <= most;
}

s64 kinst_record_size(const struct kinst_action_kind *kind, const struct kinst_action *a, u32 value)
{
	u64 copy = kinst_ustack_copied(a);

	switch (kind->records) {
	case RECORD_DIFO:
		return value;
	case RECORD_ARG:
		return is_within(a->arg, KINST_MAX_TRACEMEM) ? (s64)a->arg : -1;
	case RECORD_COUNTED:
		return is_within(a->arg, KINST_MAX_TRACEMEM) ? 8 + (s64)a->arg : -1;
	case RECORD_FRAMES:
		return is_within(a->arg, KINST_MAX_FRAMES) ? 8 * (s64)a->arg : -1;
	case RECORD_USER_FRAMES:
		if (!is_within(kinst_ustack_frames(a), KINST_MAX_FRAMES) || copy > KINST_MAX_USTACK || copy % 8)
			return -1;
		return 8 + 8 * kinst_ustack_frames(a) + (copy ? sizeof(struct kinst_ustack) + copy : 0);
	}
	return kind->bytes;
}
