// SPDX-License-Identifier: GPL-2.0
/*
 * providers/syscall.c: the syscall provider: entry and return of the system calls of
 * 64-bit programs, through the kernel's tracepoints sys_enter and sys_exit.
 *
 * A 32-bit system call has another table and other
 * numbers, and is not one of these. A call that never returns (exit_group) has no return;
 * one that creates a thread or a process returns twice, the second time in the new one.
 *
 * Context: process, except the functions that the tracepoints call.
 */
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "arch/ksym.h"
#include "context.h"
#include "program/kernel/fire.h"
#include "providers/syscall.h"

enum side { SIDE_ENTRY, SIDE_RETURN, NSIDES };

/* A probe of a system call; several may listen to the same one. */
struct kinst_call_listener {
	u32 probe;
	u32 next; /* 1 + index of the next one, 0: none */
};

/* The system calls that a session traces. */
struct kinst_calls {
	struct list_head node; /* in the list of all; RCU */
	struct kinst_session *session;
	struct kinst_call_listener *users;
	u32 n;
	u32 nsides[NSIDES];
	u32 first[NSIDES][NR_syscalls]; /* 1 + index of the first listener */
};

static DEFINE_MUTEX(calls_lock);
static LIST_HEAD(all_calls);
static struct tracepoint *tracepoints[NSIDES];
static unsigned long via_size[NSIDES]; /* of the function that calls our listener, if there are several */
static u32 listening[NSIDES]; /* sessions that use the tracepoint */

/* ---- firing ---- */

/* Context: the begin or end of a system call, in its thread; interrupts on; newer kernels may preempt it. */
static __probe_path void fire(enum side side, long nr, struct kinst_hit *hit)
{
	struct kinst_calls *calls;
	unsigned long flags;
	u32 i;

	if (nr < 0 || nr >= NR_syscalls || in_compat_syscall())
		return;
	hit->via = (unsigned long)tracepoints[side]->iterator;
	hit->via_size = via_size[side];
	raw_local_irq_save(flags); /* also an RCU read-side section */
	list_for_each_entry_rcu(calls, &all_calls, node, true)
		for (i = READ_ONCE(calls->first[side][nr]); i; i = calls->users[i - 1].next)
			kinst_fire(calls->session, calls->users[i - 1].probe, hit);
	raw_local_irq_restore(flags);
}
NOKPROBE_SYMBOL(fire);

/* Context: as fire(). */
static __probe_path void on_enter(void *data, struct pt_regs *regs, long nr)
{
	struct kinst_hit hit = {
		.regs = regs, .kind = KINST_P_SYSCALL_ENTRY, .nargs = 6, .fuel = KINST_HIT_FUEL,
	};
	unsigned long args[6];
	u32 i;

	syscall_get_arguments(current, regs, args);
	for (i = 0; i < ARRAY_SIZE(args); i++)
		hit.args[i] = args[i];
	fire(SIDE_ENTRY, nr, &hit);
}
NOKPROBE_SYMBOL(on_enter);

/* Context: as fire(). */
static __probe_path void on_exit(void *data, struct pt_regs *regs, long value)
{
	struct kinst_hit hit = {
		.regs = regs, .kind = KINST_P_SYSCALL_RETURN, .nargs = 2, .fuel = KINST_HIT_FUEL,
		.args = { value, value },
	};

	fire(SIDE_RETURN, syscall_get_nr(current, regs), &hit);
}
NOKPROBE_SYMBOL(on_exit);

static void *const functions[NSIDES] = { on_enter, on_exit };

/* ---- the table ---- */

u32 kinst_syscall_count(void)
{
	unsigned long size, offset;

	if (!kinst_addr_sys_call_table || !kinst_addr_sys_ni_syscall ||
	    !kinst_sym_kallsyms_lookup_size_offset(kinst_addr_sys_call_table, &size, &offset))
		return 0;
	return min_t(unsigned long, size / sizeof(long), NR_syscalls);
}

/* nr is less than the count. */
u64 kinst_syscall_function(u32 nr)
{
	unsigned long function = ((unsigned long *)kinst_addr_sys_call_table)[nr];

	return function == kinst_addr_sys_ni_syscall ? 0 : function;
}

/* ---- arm and disarm ---- */

static bool is_call(u32 kind)
{
	return kind == KINST_P_SYSCALL_ENTRY || kind == KINST_P_SYSCALL_RETURN;
}

static enum side side_of(const struct kinst_probe *probe)
{
	return probe->kind == KINST_P_SYSCALL_ENTRY ? SIDE_ENTRY : SIDE_RETURN;
}

static enum kinst_reason take(struct kinst_calls *calls, const struct kinst_probe *probe, u32 index, u32 count)
{
	enum side side = side_of(probe);
	struct kinst_call_listener *user;
	u32 *first;

	if (probe->func >= count || !kinst_syscall_function(probe->func))
		return KINST_R_NOSYSCALL;
	if (!tracepoints[side])
		return KINST_R_TRACEPOINT;
	first = &calls->first[side][probe->func];
	user = &calls->users[calls->n++];
	user->probe = index;
	user->next = *first;
	*first = calls->n;
	calls->nsides[side]++;
	return KINST_OK;
}

/* Registers with the tracepoints that calls needs and that no other session uses yet. With calls_lock held. */
static int listen(struct kinst_calls *calls)
{
	enum side side;
	int err;

	for (side = 0; side < NSIDES; side++) {
		if (!calls->nsides[side] || listening[side]++)
			continue;
		err = tracepoint_probe_register(tracepoints[side], functions[side], NULL);
		if (err)
			goto fail;
	}
	return 0;

fail:
	listening[side]--;
	while (side-- > 0)
		if (calls->nsides[side] && !--listening[side])
			tracepoint_probe_unregister(tracepoints[side], functions[side], NULL);
	return err;
}

/* The mirror; with calls_lock held. */
static void unlisten(struct kinst_calls *calls)
{
	enum side side;

	for (side = 0; side < NSIDES; side++)
		if (calls->nsides[side] && !--listening[side])
			tracepoint_probe_unregister(tracepoints[side], functions[side], NULL);
}

static void free_calls(struct kinst_calls *calls)
{
	kvfree(calls->users);
	kvfree(calls);
}

struct kinst_calls *kinst_syscall_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				      struct kinst_result *res)
{
	u32 i, wanted = 0, count = kinst_syscall_count();
	struct kinst_calls *calls;
	int err;

	for (i = 0; i < n; i++)
		wanted += is_call(probes[i].kind);
	if (!wanted)
		return NULL;
	calls = kvzalloc(sizeof(*calls), GFP_KERNEL);
	if (!calls)
		return ERR_PTR(-ENOMEM);
	calls->session = s;
	calls->users = kvcalloc(wanted, sizeof(*calls->users), GFP_KERNEL);
	if (!calls->users) {
		free_calls(calls);
		return ERR_PTR(-ENOMEM);
	}
	for (i = 0; i < n; i++)
		if (is_call(probes[i].kind))
			res[i].reason = take(calls, &probes[i], i, count);

	mutex_lock(&calls_lock);
	err = listen(calls);
	if (!err)
		list_add_tail_rcu(&calls->node, &all_calls);
	mutex_unlock(&calls_lock);
	if (!err)
		return calls;
	for (i = 0; i < n; i++)
		if (is_call(probes[i].kind) && !res[i].reason)
			res[i].reason = KINST_R_TRACEPOINT;
	free_calls(calls);
	return NULL;
}

void kinst_syscall_disarm(struct kinst_calls *calls)
{
	if (!calls)
		return;
	mutex_lock(&calls_lock);
	list_del_rcu(&calls->node);
	unlisten(calls);
	mutex_unlock(&calls_lock);
	/* Then no CPU walks a list that has it, or is in our functions if this was their last session. */
	synchronize_rcu();
	tracepoint_synchronize_unregister();
	free_calls(calls);
}

/* ---- load ---- */

static void note(struct tracepoint *tp, void *data)
{
	if (!strcmp(tp->name, "sys_enter"))
		tracepoints[SIDE_ENTRY] = tp;
	else if (!strcmp(tp->name, "sys_exit"))
		tracepoints[SIDE_RETURN] = tp;
}

/* Tracepoints of the kernel proper are never removed. A kernel without these has no probes of this provider. */
void kinst_syscall_init(void)
{
	unsigned long offset;
	enum side side;

	for_each_kernel_tracepoint(note, NULL);
	for (side = 0; side < NSIDES; side++)
		if (tracepoints[side])
			kinst_sym_kallsyms_lookup_size_offset((unsigned long)tracepoints[side]->iterator,
							      &via_size[side], &offset);
}
