// SPDX-License-Identifier: GPL-2.0
/*
 * program/kernel/memory.c: the services of program/env.h other than variables: memory, the clock, the thread, the
 * wake-up of the consumer.
 *
 * Context: probe; in the guard, interrupts off; NMI too.
 */
#include <linux/hardirq.h>
#include <linux/irq_work.h>
#include <linux/random.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "arch/arch.h"
#include "arch/ksym.h"
#include "context.h"
#include "program/kernel/memory.h"
#include "program/kernel/unaccepted.h"
#include "program/session.h"

/* ---- memory ---- */

__at_hit bool kinst_env_read(void *dst, u64 addr, size_t n)
{
	return kinst_arch_is_canonical(addr, n) && !kinst_arch_is_device(addr, n) && !kinst_is_unaccepted(addr, n) &&
	       !copy_from_kernel_nofault(dst, (const void *)(uintptr_t)addr, n);
}
NOKPROBE_SYMBOL(kinst_env_read);

__at_hit bool kinst_env_read_user(void *dst, u64 addr, size_t n)
{
	return current->mm && !copy_from_user_nofault(dst, (const void __user *)(uintptr_t)addr, n);
}
NOKPROBE_SYMBOL(kinst_env_read_user);

u64 kinst_env_seed(void)
{
	return get_random_u64() | 1;
}

/* ---- time ---- */

__at_hit u64 kinst_env_now(void)
{
	return ktime_get_mono_fast_ns();
}
NOKPROBE_SYMBOL(kinst_env_now);

/* ---- the thread ---- */

__at_hit u32 kinst_context_level(const struct kinst_hit *hit)
{
	u32 own = ((preempt_count() & NMI_MASK) >> NMI_SHIFT) + kinst_is_timer(hit->kind);

	return hardirq_count() >> HARDIRQ_SHIFT > own ? 2 : in_serving_softirq() ? 1 : 0;
}
NOKPROBE_SYMBOL(kinst_context_level);

/*
 * The active address space may not be the current thread's: during a switch or an exec, and while
 * the kernel writes its own text through an alias in user space. Reads check that themselves (see
 * copy_from_user_nofault()). An interrupt is unrelated to the thread that it interrupted. The checks are the same as
 * in bpf_probe_write_user().
 */
__at_hit bool kinst_env_write_user(struct kinst_ctx *c, u64 addr, const void *src, size_t n)
{
	void __user *to = (void __user *)(uintptr_t)addr;
	unsigned long left;

	if (!current->mm || current->flags & (PF_KTHREAD | PF_EXITING) || kinst_context_level(c->hit) ||
	    kinst_arch_on_exception_stack())
		return false;
	if (!kinst_arch_uaccess_okay() || !__access_ok(to, n))
		return false;
	/* As in copy_to_user_nofault(), whose own check warns in a breakpoint if DEBUG_ATOMIC_SLEEP is on. */
	pagefault_disable();
	left = __copy_to_user_inatomic(to, src, n);
	pagefault_enable();
	return !left;
}
NOKPROBE_SYMBOL(kinst_env_write_user);

/*
 * A new task can have the address of an old one, but not with the same start time. An interrupt has separate
 * variables from the task that it interrupts. Each CPU has one idle task, so their addresses distinguish them.
 */
__at_hit void kinst_env_thread(struct kinst_ctx *c, u64 key[2])
{
	key[0] = (u64)(uintptr_t)current | kinst_context_level(c->hit); /* tasks are aligned */
	key[1] = current->start_boottime;
}
NOKPROBE_SYMBOL(kinst_env_thread);

__at_hit u64 kinst_env_tgid(void)
{
	return current->tgid;
}
NOKPROBE_SYMBOL(kinst_env_tgid);

/* A probe may be inside wake_up() itself, so the wake-up is deferred to a separate interrupt. */
__at_hit void kinst_env_wake(struct kinst_session *s)
{
	irq_work_queue(s->wake);
}
NOKPROBE_SYMBOL(kinst_env_wake);
