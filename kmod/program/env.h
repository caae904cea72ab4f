/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/env.h: everything that the files of program/ need from their environment: the kernel,
 * or tests/shim.h in user space. They include nothing else from either.
 */
#ifndef _KINST_ENV_H
#define _KINST_ENV_H

#ifdef __KERNEL__
#include <linux/bug.h>
#include <linux/kprobes.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vmalloc.h>
#include <asm/byteorder.h>
#include <asm/local.h>
#include "hit.h"
#else
#include "tests/shim.h"
#endif

struct kinst_ctx;
struct kinst_session;

/*
 * The services that a running program needs. All may be called in any context,
 * NMI included, with interrupts off; none sleeps or faults.
 */

/* Copies n bytes from a kernel (user) address; false if one of them cannot be read. */
bool kinst_env_read(void *dst, u64 addr, size_t n);
bool kinst_env_read_user(void *dst, u64 addr, size_t n);
/* False also if the current memory may not be the current thread's: in an interrupt, or during a switch. */
bool kinst_env_write_user(struct kinst_ctx *c, u64 addr, const void *src, size_t n);

/* The value of a built-in scalar; sets a fault in c if it has none. */
u64 kinst_env_var(struct kinst_ctx *c, u32 id);
/* Element idx of regs[] (user false) or uregs[] (user true). */
u64 kinst_env_reg(struct kinst_ctx *c, u64 idx, bool user);
/* Argument idx of the probe, for arg0 .. arg9 and args[]. */
u64 kinst_env_arg(struct kinst_ctx *c, u64 idx);
/* A subroutine about the system: locks, processes, rand. */
u64 kinst_env_subr(struct kinst_ctx *c, u32 subr);

/* stop(), raise(), chill(), breakpoint(), panic(); value: the signal, or nanoseconds. */
void kinst_env_destroy(struct kinst_ctx *c, u32 kind, u64 value);

/* A seed for rand(); process context. */
u64 kinst_env_seed(void);

/* The clock of the D variable timestamp. */
u64 kinst_env_now(void);

/* A key that no other thread has or had. */
void kinst_env_thread(struct kinst_ctx *c, u64 key[2]);

/* The return addresses from the probed function on; fills n entries, with zeroes after the last. */
void kinst_env_stack(struct kinst_ctx *c, u64 *pcs, u32 n);
void kinst_env_ustack(struct kinst_ctx *c, u64 *pcs, u32 n);
/* Fills *to, and then up to size bytes of the user's stack after it. Both are zeroed before. */
void kinst_env_ustack_copy(struct kinst_ustack *to, u32 size);
u64 kinst_env_tgid(void);

/* Wakes the consumer. */
void kinst_env_wake(struct kinst_session *s);

#endif /* _KINST_ENV_H */
