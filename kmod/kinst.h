/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kinst.h: the interface between the two halves of the module.
 *
 * text/ changes the kernel's text and handles the hits there, with what places/
 * finds out about it; providers/ turns probes into places, timers and tracepoints.
 * All call kinst_fire() when a probe is reached.
 * session/ is an open file and what a hit reads from the kernel; program/ is what
 * it runs. They request the arming of probes.
 */
#ifndef _KINST_H
#define _KINST_H

#include <linux/ptrace.h>
#include <linux/types.h>
#include "include/uapi/kinst.h"

struct kernel_param;
struct kinst_session;

/*
 * Steps that one hit may take for all listeners of the place, whatever their sessions (program/dif/dif.h defines
 * a step): interrupts are off meanwhile.
 */
#define KINST_HIT_FUEL (4u << 20)

/* One firing of a probe, as its programs see it. */
struct kinst_hit {
	/*
	 * The registers at the probed instruction, with its address as ip. Timers: those of the interrupted
	 * code. System calls: those of the program. ERROR: those of the hit that faulted. NULL for BEGIN, END,
	 * SDT and EVENT.
	 */
	struct pt_regs *regs;
	u32 kind; /* KINST_P_* */
	u32 nargs; /* arguments in args; further ones come from regs for FBT_ENTRY */
	u32 fuel; /* steps left; KINST_HIT_FUEL at first */
	u64 args[6];
	/* The kernel's function that called us, and its size: without registers, a stack begins below it. */
	unsigned long via, via_size;
};

static inline bool kinst_is_insn(u32 kind)
{
	return kind == KINST_P_INSN || kind == KINST_P_EDGE;
}

static inline bool kinst_is_timer(u32 kind)
{
	return kind == KINST_P_PROFILE || kind == KINST_P_TICK;
}

/*
 * Runs the ECBs of one probe of one session. The only call from the probe side
 * to the program side on the probe path, except in text/trap.c, where there may be many listeners (session/guard.h).
 *
 * Context: any, NMI included. Returns with interrupts as they were. Never
 * sleeps, locks, allocates or faults.
 */
void kinst_fire(struct kinst_session *s, u32 probe, struct kinst_hit *hit);

/* ---- the probe side, for the program side; process context, may sleep ---- */

struct kinst_points; /* the places that one session has armed */

/*
 * Prepares and arms the INSN, EDGE and FBT probes among probes[0..n); the others
 * are left alone (result OK). If a place is refused, res[i] has the reason, and the
 * rest is armed. Returns the session's points, or an ERR_PTR if nothing
 * could be done at all. kinst_fire(s, i, ...) may be called before it returns.
 * A signal that ends the process ends it early: the points are those that were
 * armed until then.
 */
struct kinst_points *kinst_points_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				      struct kinst_result *res);

/* The session is about to run: until this is called, places may fire or not. */
void kinst_points_start(struct kinst_points *points);

/* The session runs: probes that are taken away at their first hit (KINST_IMAGE_ONCE) wait for it from now on. */
void kinst_points_arm_once(struct kinst_points *points);

/* The session's state lets no program run any more: waits for those that do. The places may still be armed. */
void kinst_points_silence(struct kinst_points *points);

/*
 * Charges memory whose size is known only while the session arms its probes. Returns 0, or an error if it is more than
 * the session, or all of them together, may have. It is given back when the session ends.
 */
int kinst_session_charge(struct kinst_session *s, u64 bytes);

/* The mirror. After it returns no CPU is in kinst_fire() for this session, and none will be. */
void kinst_points_disarm(struct kinst_points *points);

/* KINST_IOC_SETTLE: waits until every site that can be a jump is one; returns how many there are. */
u32 kinst_jumps_settle(void);

/* KINST_IOC_INSNS: fills buf[0..count) and *info. */
int kinst_points_insns(u64 func, struct kinst_insn *buf, u32 count, struct kinst_insns *info);

int kinst_points_init(void); /* module load: symbols, notifiers, pools */
void kinst_points_exit(void);

/*
 * The providers whose probes are not places. arm() takes the probes of its kinds among
 * probes[0..n), as kinst_points_arm() does, and returns NULL if there are none.
 * disarm() is like kinst_points_disarm().
 */
struct kinst_timers *kinst_profile_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				       struct kinst_result *res);
void kinst_profile_start(struct kinst_timers *timers); /* tracing is on: the intervals begin */
void kinst_profile_disarm(struct kinst_timers *timers);
int kinst_profile_init(void);
void kinst_profile_exit(void);

struct kinst_calls *kinst_syscall_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				      struct kinst_result *res);
void kinst_syscall_disarm(struct kinst_calls *calls);
void kinst_syscall_init(void);

struct kinst_traces *kinst_sdt_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				   struct kinst_result *res);
void kinst_sdt_disarm(struct kinst_traces *traces);

/* KINST_IOC_SYSCALLS: the function of a number, or 0; and how many numbers there are. */
u64 kinst_syscall_function(u32 nr);
u32 kinst_syscall_count(void);

/* ---- the program side, for main.c ---- */

int kinst_chardev_init(void);
void kinst_chardev_exit(void);

/* The setter of read-only module parameters. */
int kinst_refuse_to_set(const char *value, const struct kernel_param *kp);

/* ---- ksym.c: symbols that the kernel does not export ---- */

/* The address of the first of the NULL-terminated names that exists, or 0. */
unsigned long kinst_ksym(const char *const *names);

#endif /* _KINST_H */
