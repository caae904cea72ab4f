/* SPDX-License-Identifier: GPL-2.0 */
/* mock.h: the simulated system that programs see in user space, set by the test. */
#ifndef _KINST_MOCK_H
#define _KINST_MOCK_H

#include "program/alloc.h"
#include "program/session.h"
#include "program/spec.h"

#define MOCK_NREGS 22

struct mock {
	u32 cpu;
	u64 timestamp, vtimestamp, walltimestamp, curthread;
	u64 ipl, pid, tid, ppid, uid, gid, errno_;
	u64 caller, stackdepth, ucaller, ustackdepth;
	u64 rand;
	u32 ustack; /* bytes of the user's stack that can be read */
	const char *execname, *execargs;
	u64 regs[MOCK_NREGS], uregs[MOCK_NREGS];
	u64 thread[2]; /* the key of thread-local variables */
	u32 wakes; /* counted */
};

extern struct mock mock;

#endif /* _KINST_MOCK_H */
