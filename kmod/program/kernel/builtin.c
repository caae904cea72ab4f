// SPDX-License-Identifier: GPL-2.0
/*
 * program/kernel/builtin.c: access of programs to the system: built-in variables,
 * and the subroutines that inspect locks and processes.
 *
 * Context: probe; in the guard, interrupts off; NMI too. Tasks and locks are
 * read without their locks, through no-fault copies where a pointer could be stale.
 */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/fs_struct.h>
#include <linux/kernel_stat.h>
#include <linux/mm_types.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/printk.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include "arch/arch.h"
#include "context.h"
#include "program/kernel/builtin.h"
#include "program/kernel/memory.h"
#include "program/kernel/stack.h"
#include "program/session.h"

/* ---- time ---- */

/*
 * On-CPU time of the current thread: the time accounted by the scheduler, and the
 * time since. The scheduler's clock excludes the time of interrupts, if the
 * kernel measures it. An idle thread has the time that has passed: since Linux 6.12,
 * its accounting begins again and again, and nothing is added up.
 */
static __at_hit u64 vtimestamp(void)
{
	const struct sched_entity *se = &current->se;
	s64 since = local_clock() - READ_ONCE(se->exec_start);

#ifdef CONFIG_IRQ_TIME_ACCOUNTING
	const u64 *spent = kcpustat_this_cpu->cpustat;

	since -= READ_ONCE(spent[CPUTIME_IRQ]) + READ_ONCE(spent[CPUTIME_SOFTIRQ]);
#endif
	if (is_idle_task(current))
		return local_clock();
	return READ_ONCE(se->sum_exec_runtime) + max_t(s64, since, 0);
}
NOKPROBE_SYMBOL(vtimestamp);

/* ---- the thread ---- */

/* Loads a member of the structure at p; false and a fault if it cannot be read. */
#define LOAD(c, p, member, to) kinst_load(c, to, (u64)(uintptr_t)&(p)->member, sizeof(*(to)), false)

/*
 * Loads the process that t is a thread of, and its parent. A released task (see pid_alive()), such as a thread at the
 * end of do_exit(), may have dangling pointers: it counts as having no parent. The pointers of any other task stay
 * valid for RCU readers, and with interrupts off we are one.
 */
static __at_hit bool parent_of(struct kinst_ctx *c, struct task_struct *t, struct task_struct **leader,
			      struct task_struct **parent)
{
	struct pid *pid;

	*parent = NULL;
	if (!LOAD(c, t, thread_pid, &pid) || !pid)
		return false;
	return LOAD(c, t, group_leader, leader) && LOAD(c, *leader, real_parent, parent) && *parent;
}
NOKPROBE_SYMBOL(parent_of);

/* 0 for a process at its end, as for the topmost one. */
static __at_hit u64 ppid(struct kinst_ctx *c)
{
	struct task_struct *leader, *parent;
	pid_t tgid;

	return parent_of(c, current, &leader, &parent) && LOAD(c, parent, tgid, &tgid) ? tgid : 0;
}
NOKPROBE_SYMBOL(ppid);

#define MAX_GENERATIONS 4096

static __at_hit u64 progenyof(struct kinst_ctx *c, u32 pid)
{
	struct task_struct *t = current, *leader, *parent;
	u32 depth;
	pid_t tgid;

	for (depth = 0; depth < MAX_GENERATIONS && kinst_burn(c, KINST_NODE_STEPS); depth++) {
		if (!LOAD(c, t, tgid, &tgid))
			return 0;
		if (tgid == pid)
			return 1;
		if (!parent_of(c, t, &leader, &parent) || parent == leader)
			return 0;
		t = parent;
	}
	return 0;
}
NOKPROBE_SYMBOL(progenyof);

/* The arguments of the process, from its memory, separated by blanks. */
static __at_hit u64 execargs(struct kinst_ctx *c)
{
	struct mm_struct *mm = current->mm;
	u64 from = mm ? READ_ONCE(mm->arg_start) : 0, to = mm ? READ_ONCE(mm->arg_end) : 0;
	u64 n = to > from ? min_t(u64, to - from, c->prog->strsize) : 0, i;
	char *p = kinst_scratch(c, n + 1);

	if (!p || (n && !kinst_load(c, p, from, n, true)))
		return 0;
	while (n && !p[n - 1])
		n--;
	for (i = 0; i < n; i++)
		if (!p[i])
			p[i] = ' ';
	p[min_t(u64, n, c->prog->strsize - 1)] = 0;
	return (u64)(uintptr_t)p;
}
NOKPROBE_SYMBOL(execargs);

/* ---- built-in variables ---- */

/* Pays for the frames walked, and returns their number. */
static __at_hit u64 depth(struct kinst_ctx *c, u32 frames)
{
	kinst_burn(c, (u64)frames * KINST_FRAME_STEPS);
	return frames;
}
NOKPROBE_SYMBOL(depth);

static const char zone[] = "global";

static nokprobe_inline u64 name_at(const struct kinst_prog *p, u32 off)
{
	return (u64)(uintptr_t)(p->strtab + off);
}

#define LAST_ERROR 4095 /* the kernel's errors are -1 .. -4095 */

/* Linux has an error number only at the return of a system call. */
static nokprobe_inline u64 error_of(const struct kinst_hit *hit)
{
	bool failed = hit->kind == KINST_P_SYSCALL_RETURN && hit->args[1] >= (u64)-LAST_ERROR;

	return failed ? -hit->args[1] : 0;
}

__at_hit u64 kinst_env_var(struct kinst_ctx *c, u32 id)
{
	const struct kinst_probe *q;

	if (id == VAR_PID) /* used by most predicates */
		return current->tgid;
	q = &c->prog->probes[c->probe];
	switch (id) {
	case VAR_CURTHREAD:
		return (u64)(uintptr_t)current;
	case VAR_TIMESTAMP:
		return kinst_ctx_now(c);
	case VAR_VTIMESTAMP:
		return vtimestamp();
	case VAR_WALLTIMESTAMP:
		return ktime_get_real_fast_ns();
	case VAR_IPL:
		return kinst_context_level(c->hit);
	case VAR_EPID:
		return c->epid;
	case VAR_ID:
		return q->id;
	case VAR_ARG0 ... VAR_ARG9:
		return kinst_env_arg(c, id - VAR_ARG0);
	case VAR_STACKDEPTH:
		return depth(c, kinst_stack_depth(c));
	case VAR_CALLER:
		depth(c, 1);
		return kinst_stack_caller(c);
	case VAR_USTACKDEPTH:
		return depth(c, kinst_ustack_depth());
	case VAR_UCALLER:
		depth(c, 1);
		return kinst_ustack_caller();
	case VAR_PROBEPROV:
		return name_at(c->prog, q->prov);
	case VAR_PROBEMOD:
		return name_at(c->prog, q->mod);
	case VAR_PROBEFUNC:
		return name_at(c->prog, q->name_func);
	case VAR_INLINEFUNC:
		return name_at(c->prog, kinst_inlined(c) ?: q->name_func);
	case VAR_PROBENAME:
		return name_at(c->prog, q->name);
	case VAR_TID:
		return current->pid;
	case VAR_PPID:
		return ppid(c);
	case VAR_EXECNAME:
		return (u64)(uintptr_t)current->comm;
	case VAR_EXECARGS:
		return execargs(c);
	case VAR_ZONENAME:
		return (u64)(uintptr_t)zone;
	case VAR_UID:
		return from_kuid(&init_user_ns, current_uid());
	case VAR_GID:
		return from_kgid(&init_user_ns, current_gid());
	case VAR_CPU:
		return c->cpu;
	case VAR_ERRNO:
		return error_of(c->hit);
	}
	return 0;
}
NOKPROBE_SYMBOL(kinst_env_var);

/* At a function's entry, arguments beyond the registers are on the stack, above the return address. */
__at_hit u64 kinst_env_arg(struct kinst_ctx *c, u64 i)
{
	const struct kinst_hit *hit = c->hit;
	u64 v = 0;

	if (i < hit->nargs)
		return hit->args[i];
	if (i < 64 && hit->kind == KINST_P_FBT_ENTRY && hit->regs)
		kinst_load(c, &v, kinst_arch_stack_arg(hit->regs, i), sizeof(v), false);
	return v;
}
NOKPROBE_SYMBOL(kinst_env_arg);

__at_hit u64 kinst_env_reg(struct kinst_ctx *c, u64 i, bool user)
{
	const struct pt_regs *regs = c->hit->regs;
	int offset = kinst_arch_reg_offset(i);
	u64 v;

	if (user)
		regs = current->mm ? task_pt_regs(current) : NULL;
	if (offset < 0) {
		kinst_fault(c, KINST_FLT_ILLOP, i);
		return 0;
	}
	if (!regs)
		return 0; /* BEGIN, END, events; a kernel thread has no user registers */
	memcpy(&v, (const u8 *)regs + offset, sizeof(v));
	return v;
}
NOKPROBE_SYMBOL(kinst_env_reg);

/* ---- paths ---- */

#define PATH_DEPTH 256 /* components, mounts included */
#define MOUNT_OF_VFSMOUNT (sizeof(struct hlist_node) + offsetof(struct mount_head, mnt)) /* struct vfsmount in struct mount */

/* The part of the kernel's private struct mount that ends with a path's struct vfsmount. */
struct mount_head {
	u64 parent; /* struct mount; the topmost is its own parent */
	u64 mountpoint; /* struct dentry in the parent */
	struct vfsmount mnt;
};

static bool mounts_known __ro_after_init;

static nokprobe_inline const struct mount_head *head_of(const struct vfsmount *mnt)
{
	return container_of(mnt, struct mount_head, mnt);
}

/*
 * Context: module load. Checks that this kernel's struct mount has the expected layout: for each mount from our root
 * to the topmost one, the members must have the values that follow_up() returns.
 */
void __init kinst_builtin_init(void)
{
	u64 parent, mountpoint, mount;
	struct path path;
	bool up;

	get_fs_root(current->fs, &path);
	mounts_known = true;
	do {
		mount = (u64)(uintptr_t)path.mnt - MOUNT_OF_VFSMOUNT;
		parent = READ_ONCE(head_of(path.mnt)->parent);
		mountpoint = READ_ONCE(head_of(path.mnt)->mountpoint);
		if (mountpoint == (u64)(uintptr_t)path.mnt->mnt_root && parent == mount)
			break;
		up = follow_up(&path);
		mounts_known = up && parent == (u64)(uintptr_t)path.mnt - MOUNT_OF_VFSMOUNT &&
			       mountpoint == (u64)(uintptr_t)path.dentry;
	} while (mounts_known);
	path_put(&path);
	if (!mounts_known)
		pr_info("kinst: struct mount has an unknown layout: d_path() is not supported\n");
}

/* Prepends a slash and the name of a dentry to s, at start or above; NULL if it does not fit, or on a fault. */
static __at_hit char *prepend(struct kinst_ctx *c, char *start, char *s, const struct dentry *d)
{
	struct qstr name;
	u64 n;

	if (!LOAD(c, d, d_name, &name))
		return NULL;
	n = min_t(u64, name.len, s - start);
	if (n + 1 > s - start)
		return NULL;
	s -= n;
	if (!kinst_load(c, s, (u64)(uintptr_t)name.name, n, false))
		return NULL;
	*--s = '/';
	return s;
}
NOKPROBE_SYMBOL(prepend);

/*
 * d_path(), seen from the topmost mount; a path that is longer than a string begins with "...". Unlike the kernel's
 * function, it takes no locks: a concurrent rename can give a mixture of names, but never an unreported fault.
 */
static __at_hit u64 path_name(struct kinst_ctx *c, u64 addr)
{
	char *start = c->vcpu->str[0], *s = start + c->prog->strsize - 1, *end = s;
	struct dentry *root, *above;
	struct path path;
	bool whole = false;
	u64 mount, to;
	u32 depth;

	if (!mounts_known)
		kinst_fault(c, KINST_FLT_ILLOP, addr);
	if (c->faulted || !kinst_load(c, &path, addr, sizeof(path), false))
		return 0;
	for (depth = 0; depth < PATH_DEPTH && kinst_burn(c, KINST_NODE_STEPS); depth++) {
		char *next;

		if (!LOAD(c, path.dentry, d_parent, &above) || !LOAD(c, path.mnt, mnt_root, &root))
			return 0;
		if (path.dentry == root || path.dentry == above) {
			mount = (u64)(uintptr_t)path.mnt - MOUNT_OF_VFSMOUNT;
			whole = LOAD(c, head_of(path.mnt), parent, &to) && to == mount;
			if (whole || c->faulted)
				break;
			if (!LOAD(c, head_of(path.mnt), mountpoint, (u64 *)&path.dentry))
				return 0;
			path.mnt = (struct vfsmount *)(uintptr_t)(to + MOUNT_OF_VFSMOUNT);
			continue;
		}
		next = prepend(c, start, s, path.dentry);
		if (!next)
			break;
		s = next;
		path.dentry = above;
	}
	if (c->faulted)
		return 0;
	if (!whole) {
		s -= min_t(u64, s - start, 3);
		memcpy(s, "...", 3);
	}
	return s == end ? kinst_new_string(c, "/", 1) : kinst_new_string(c, s, end - s);
}
NOKPROBE_SYMBOL(path_name);

/* ---- locks ---- */

#ifdef CONFIG_PREEMPT_RT
#define MUTEX_OWNER offsetof(struct mutex, rtmutex.owner)
#else
#define MUTEX_OWNER offsetof(struct mutex, owner)
#endif

/* The owner is in the upper bits of the word; the lower ones are flags. */
static __at_hit u64 mutex_owner(struct kinst_ctx *c, u64 addr)
{
	unsigned long owner = 0;

	kinst_load(c, &owner, addr + MUTEX_OWNER, sizeof(owner), false);
	return owner & ~7ul;
}
NOKPROBE_SYMBOL(mutex_owner);

#define RWSEM_IS_WRITTEN 1ul
#define RWSEM_READERS 8 /* shift of their number */

static __at_hit u64 rwsem(struct kinst_ctx *c, u32 subr, u64 addr)
{
	unsigned long count = 0, owner = 0;

#ifndef CONFIG_PREEMPT_RT
	if (!kinst_load(c, &count, addr + offsetof(struct rw_semaphore, count), sizeof(count), false) ||
	    !kinst_load(c, &owner, addr + offsetof(struct rw_semaphore, owner), sizeof(owner), false))
		return 0;
#endif
	if (subr == SUBR_RW_READ_HELD)
		return (long)count >= 0 && count >> RWSEM_READERS;
	if (subr == SUBR_RW_WRITE_HELD)
		return count & RWSEM_IS_WRITTEN;
	return count & RWSEM_IS_WRITTEN && (owner & ~7ul) == (unsigned long)current;
}
NOKPROBE_SYMBOL(rwsem);

static __at_hit u64 next_random(struct kinst_vcpu *v)
{
	v->rand ^= v->rand << 13; /* xorshift64 */
	v->rand ^= v->rand >> 7;
	v->rand ^= v->rand << 17;
	return v->rand >> 33; /* an int that is not negative */
}
NOKPROBE_SYMBOL(next_random);

__at_hit u64 kinst_env_subr(struct kinst_ctx *c, u32 subr)
{
	u64 arg = c->tuple[0].value;

	switch (subr) {
	case SUBR_RAND:
		return next_random(c->vcpu);
	case SUBR_D_PATH:
		return path_name(c, arg);
	case SUBR_PROGENYOF:
		return progenyof(c, arg);
	case SUBR_MUTEX_OWNER:
		return mutex_owner(c, arg);
	case SUBR_MUTEX_OWNED:
		return mutex_owner(c, arg) == (u64)(uintptr_t)current;
	case SUBR_MUTEX_TYPE_ADAPTIVE:
		return 1; /* all mutexes in Linux are adaptive */
	case SUBR_MUTEX_TYPE_SPIN:
		return 0;
	case SUBR_RW_READ_HELD:
	case SUBR_RW_WRITE_HELD:
	case SUBR_RW_ISWRITER:
		return rwsem(c, subr, arg);
	}
	return 0;
}
NOKPROBE_SYMBOL(kinst_env_subr);
