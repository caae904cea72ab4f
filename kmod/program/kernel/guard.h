/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/kernel/guard.h: the guard that lets a CPU run one program at a time and rejects other hits.
 *
 * A hit inside a program, inside a function that it calls, or in an NMI on top of it, is
 * counted and runs nothing. Nothing that a program uses on its CPU therefore
 * needs a lock, and no hit can recurse.
 *
 * Context of all: any, NMI included, interrupts off.
 */
#ifndef _KINST_GUARD_H
#define _KINST_GUARD_H

#include <linux/percpu.h>
#include "arch/arch.h"
#include "hit.h"

struct kinst_guard {
	u32 busy;
	struct kinst_hit hit; /* for the holder of the guard */
};

DECLARE_PER_CPU(struct kinst_guard, kinst_guard);

/*
 * Takes the guard for a hit. NULL: a program is running already, or too little of the stack is left.
 * An NMI between the test and the mark runs its programs to the end, and clears its mark again.
 */
static __always_inline struct kinst_guard *kinst_guard_take(void)
{
	struct kinst_guard *guard = raw_cpu_ptr(&kinst_guard);

	if (unlikely(READ_ONCE(guard->busy) || kinst_arch_stack_is_short()))
		return NULL;
	WRITE_ONCE(guard->busy, 1);
	barrier();
	return guard;
}

static __always_inline void kinst_guard_give(struct kinst_guard *guard)
{
	barrier();
	WRITE_ONCE(guard->busy, 0);
}

/* Between the two, hits on this CPU are rejected, as while a program runs. */
u32 kinst_guard_enter(void);
void kinst_guard_exit(u32 busy);

#endif /* _KINST_GUARD_H */
