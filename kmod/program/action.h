/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/action.h: the kinds of actions: the argument and the record of each.
 */
#ifndef _KINST_ACTION_H
#define _KINST_ACTION_H

#include "program/env.h"

/* The DIFO of an action. */
enum kinst_takes {
	TAKES_NONE,
	TAKES_ANY,
	TAKES_VALUE, /* a number */
	TAKES_ADDRESS,
	TAKES_MAYBE, /* a number or none */
};

/* The size of an action's record. */
enum kinst_records {
	RECORD_BYTES, /* .bytes */
	RECORD_DIFO, /* the size of the DIFO's type */
	RECORD_ARG, /* the argument */
	RECORD_COUNTED, /* a word, and the argument */
	RECORD_FRAMES, /* the argument gives the number of words */
	RECORD_USER_FRAMES, /* a word, frames (argument's lower half), a copy of the stack (upper half, if not 0) */
};

struct kinst_action_kind {
	u16 kind; /* KINST_ACT_* */
	u8 takes; /* enum kinst_takes */
	u8 records; /* enum kinst_records */
	u8 bytes;
	bool key; /* it may be part of an aggregation's key */
};

/* The row of a kind, or NULL if it is unknown. */
const struct kinst_action_kind *kinst_action_kind(u32 kind);

/* Whether actions of this kind, of two classes, need the image's flag DESTRUCTIVE. */
static inline bool kinst_is_destructive(u32 kind)
{
	return (kind & 0xff00) == 0x0200 || (kind & 0xff00) == 0x0500;
}

/* The frames of ustack(), and the bytes of the stack that it copies. */
static inline u32 kinst_ustack_frames(const struct kinst_action *a)
{
	return (u32)a->arg;
}

static inline u32 kinst_ustack_copied(const struct kinst_action *a)
{
	return a->arg >> 32;
}

/*
 * Bytes of the record of an action of this kind, whose DIFO, if any, gives a value of that many bytes; -1: the
 * argument is invalid.
 */
s64 kinst_record_size(const struct kinst_action_kind *kind, const struct kinst_action *a, u32 value);

#endif /* _KINST_ACTION_H */
