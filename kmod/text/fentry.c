// SPDX-License-Identifier: GPL-2.0
/*
 * text/fentry.c: hits through ftrace, all by one ftrace_ops whose filter
 * holds the addresses.
 *
 * The ops stay registered for a while after the last address is removed: unregistering takes a
 * Tasks RCU grace period with ftrace's lock held, and every module load
 * waits for that lock. As an empty filter means every function, the filter always holds
 * kinst_fentry_rest().
 */
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/ftrace.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/semaphore.h>
#include <linux/workqueue.h>

#include "context.h"
#include "text/fentry.h"
#include "text/locks.h"
#include "text/rest.h"
#include "text/trap.h"

/* Running sessions. Without one, hits are ignored: ftrace itself may run through functions that are already armed. */
static atomic_t kinst_fentry_users = ATOMIC_INIT(0);

void kinst_fentry_use(void)
{
	atomic_inc(&kinst_fentry_users);
}

void kinst_fentry_unuse(void)
{
	atomic_dec(&kinst_fentry_users);
}

/*
 * Context: any, NMI included, and RCU may not watch: ftrace must not filter out such
 * hits, or they would not be counted. Interrupts are turned off so that a hit in one is not
 * taken for a hit inside our own work. Nothing that is called before the guard is taken can
 * be traced by ftrace.
 */
static void __probe_path kinst_fentry_hit(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
				     struct ftrace_regs *fregs)
{
	struct pt_regs *regs;
	struct kinst_site *site;
	unsigned long flags, saved;
	bool idle;

	if (!atomic_read(&kinst_fentry_users))
		return;
	regs = kinst_arch_ftrace_regs(fregs);
	raw_local_irq_save(flags);
	idle = kinst_watch();
	site = kinst_site_find(ip);
	if (site && site->fentry) {
		saved = instruction_pointer(regs);
		kinst_hit(site, regs);
		instruction_pointer_set(regs, saved);
	}
	kinst_unwatch(idle);
	raw_local_irq_restore(flags);
}
NOKPROBE_SYMBOL(kinst_fentry_hit);

static struct ftrace_ops kinst_fentry_ops = {
	.func = kinst_fentry_hit,
	.flags = KINST_ARCH_FTRACE_FLAGS | FTRACE_OPS_FL_PERMANENT,
};

/* Under kinst_turn. */
static unsigned long kinst_fentry_count; /* addresses in the filter, besides kinst_fentry_rest() */
static bool kinst_fentry_registered;

static int kinst_fentry_register(void)
{
	int err = ftrace_set_filter_ip(&kinst_fentry_ops, (unsigned long)kinst_fentry_rest, 0, 0);

	if (err)
		return err;
	err = register_ftrace_function(&kinst_fentry_ops);
	if (err)
		ftrace_set_filter_ip(&kinst_fentry_ops, (unsigned long)kinst_fentry_rest, 1, 0);
	kinst_fentry_registered = !err;
	return err;
}

static void kinst_fentry_unregister(void)
{
	kinst_fentry_registered = false;
	unregister_ftrace_function(&kinst_fentry_ops);
	ftrace_set_filter_ip(&kinst_fentry_ops, (unsigned long)kinst_fentry_rest, 1, 0);
}

/* How long the ops stay registered after the last address, in case another session begins. */
#define KINST_FENTRY_LEAVE	(5 * HZ)

static void kinst_fentry_leave(struct work_struct *work)
{
	down(&kinst_turn);
	if (kinst_fentry_registered && !kinst_fentry_count)
		kinst_fentry_unregister();
	up(&kinst_turn);
}

static DECLARE_DELAYED_WORK(kinst_fentry_leaving, kinst_fentry_leave);

int kinst_fentry_add(unsigned long *ips, unsigned int n)
{
	int err;

	if (!n)
		return 0;
	err = ftrace_set_filter_ips(&kinst_fentry_ops, ips, n, 0, 0);
	if (err)
		return err;
	if (!kinst_fentry_registered) {
		err = kinst_fentry_register();
		if (err) {
			ftrace_set_filter_ips(&kinst_fentry_ops, ips, n, 1, 0);
			return err;
		}
	}
	kinst_fentry_count += n;
	return 0;
}

void kinst_fentry_remove(unsigned long *ips, unsigned int n)
{
	int err;

	if (!n)
		return;
	err = ftrace_set_filter_ips(&kinst_fentry_ops, ips, n, 1, 0);
	if (err)
		pr_warn("kinst: ftrace failed to remove %u addresses (%d)\n", n, err);
	kinst_fentry_count -= n;
	if (!kinst_fentry_count)
		mod_delayed_work(kinst_queue, &kinst_fentry_leaving, KINST_FENTRY_LEAVE);
}

/*
 * If ftrace delivers the breakpoints, it must not be switched off (sysctl ftrace_enabled) as long as the module is
 * loaded. These ops prevent that.
 */
int kinst_fentry_init(void)
{
	return KINST_FTRACE_SERVES ? 0 : kinst_fentry_register();
}

void kinst_fentry_exit(void)
{
	WARN_ON(kinst_fentry_count);
	cancel_delayed_work_sync(&kinst_fentry_leaving);
	if (kinst_fentry_registered)
		kinst_fentry_unregister();
}
