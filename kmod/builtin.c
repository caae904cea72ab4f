// SPDX-License-Identifier: GPL-2.0
/*
 * builtin.c: what programs learn about the system: memory, built-in variables,
 * and the subroutines that look at locks and processes.
 *
 * Context: probe; in the guard, interrupts off; NMI too. Tasks and locks are
 * read without their locks, through no-fault copies where a pointer could be stale.
 */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/hardirq.h>
#include <linux/kernel_stat.h>
#include <linux/mm_types.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/random.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include "arch/arch.h"
#include "session.h"
#include "stack.h"

/* ---- memory ---- */

notrace bool kinst_env_read(void *dst, u64 addr, size_t n)
{
	return !kinst_arch_is_device(addr, n) && !copy_from_kernel_nofault(dst, (const void *)(uintptr_t)addr, n);
}
NOKPROBE_SYMBOL(kinst_env_read);

notrace bool kinst_env_read_user(void *dst, u64 addr, size_t n)
{
	return current->mm && !copy_from_user_nofault(dst, (const void __user *)(uintptr_t)addr, n);
}
NOKPROBE_SYMBOL(kinst_env_read_user);

notrace bool kinst_env_write_user(u64 addr, const void *src, size_t n)
{
	return current->mm && !(current->flags & (PF_KTHREAD | PF_EXITING)) &&
	       !copy_to_user_nofault((void __user *)(uintptr_t)addr, src, n);
}
NOKPROBE_SYMBOL(kinst_env_write_user);

u64 kinst_env_seed(void)
{
	return get_random_u64() | 1;
}

/* ---- time ---- */

notrace u64 kinst_env_now(void)
{
	return ktime_get_mono_fast_ns();
}
NOKPROBE_SYMBOL(kinst_env_now);

/*
 * On-CPU time of the current thread: what the scheduler has accounted, and
 * what has gone by since. The scheduler's clock leaves out the time of interrupts, if
 * the kernel measures it.
 */
static notrace u64 vtimestamp(void)
{
	const struct sched_entity *se = &current->se;
	s64 since = local_clock() - READ_ONCE(se->exec_start);

#ifdef CONFIG_IRQ_TIME_ACCOUNTING
	const u64 *spent = kcpustat_this_cpu->cpustat;

	since -= READ_ONCE(spent[CPUTIME_IRQ]) + READ_ONCE(spent[CPUTIME_SOFTIRQ]);
#endif
	return READ_ONCE(se->sum_exec_runtime) + max_t(s64, since, 0);
}
NOKPROBE_SYMBOL(vtimestamp);

/* ---- the thread ---- */

/*
 * 0 a thread, 1 a softirq, 2 an interrupt; of what a breakpoint, an NMI or our timer has
 * interrupted: each of them counts as one interrupt itself.
 */
static notrace u32 context_level(const struct kinst_hit *hit)
{
	u32 own = ((preempt_count() & NMI_MASK) >> NMI_SHIFT) + kinst_is_timer(hit->kind);

	return hardirq_count() >> HARDIRQ_SHIFT > own ? 2 : in_serving_softirq() ? 1 : 0;
}
NOKPROBE_SYMBOL(context_level);

/*
 * A task's address can come back with a new task, but not with the same start time. What interrupts it
 * has variables of its own. Idle tasks are one for each CPU, so their addresses tell them apart.
 */
notrace void kinst_env_thread(struct kinst_ctx *c, u64 key[2])
{
	key[0] = (u64)(uintptr_t)current | context_level(c->hit); /* tasks are aligned */
	key[1] = current->start_boottime;
}
NOKPROBE_SYMBOL(kinst_env_thread);

notrace u64 kinst_env_tgid(void)
{
	return current->tgid;
}
NOKPROBE_SYMBOL(kinst_env_tgid);

/* A parent exists as long as RCU readers may look, and we run with interrupts off. */
static nokprobe_inline struct task_struct *parent_of(struct task_struct *t)
{
	return rcu_dereference_raw(t->real_parent);
}

static notrace u64 progenyof(u32 pid)
{
	struct task_struct *t = current;
	u32 depth;

	for (depth = 0; depth < 4096; depth++) {
		struct task_struct *leader = READ_ONCE(t->group_leader), *parent = parent_of(leader);

		if (leader->tgid == pid)
			return 1;
		if (!parent || parent == leader)
			return 0;
		t = parent;
	}
	return 0;
}
NOKPROBE_SYMBOL(progenyof);

/* The arguments of the process as they are in its memory now, blanks between them. */
static notrace u64 execargs(struct kinst_ctx *c)
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

static const char zone[] = "global";

static nokprobe_inline u64 name_at(const struct kinst_prog *p, u32 off)
{
	return (u64)(uintptr_t)(p->strtab + off);
}

#define LAST_ERROR 4095 /* the kernel's errors are -1 .. -4095 */

/* Linux has no error number but at the return of a system call. */
static nokprobe_inline u64 error_of(const struct kinst_hit *hit)
{
	bool failed = hit->kind == KINST_P_SYSCALL_RETURN && hit->args[1] >= (u64)-LAST_ERROR;

	return failed ? -hit->args[1] : 0;
}

notrace u64 kinst_env_var(struct kinst_ctx *c, u32 id)
{
	const struct kinst_probe *q = &c->prog->probes[c->probe];

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
		return context_level(c->hit);
	case VAR_EPID:
		return c->epid;
	case VAR_ID:
		return q->id;
	case VAR_ARG0 ... VAR_ARG9:
		return kinst_env_arg(c, id - VAR_ARG0);
	case VAR_STACKDEPTH:
		return kinst_stack_depth(c->hit);
	case VAR_CALLER:
		return kinst_stack_caller(c->hit);
	case VAR_USTACKDEPTH:
		return kinst_ustack_depth();
	case VAR_UCALLER:
		return kinst_ustack_caller();
	case VAR_PROBEPROV:
		return name_at(c->prog, q->prov);
	case VAR_PROBEMOD:
		return name_at(c->prog, q->mod);
	case VAR_PROBEFUNC:
		return name_at(c->prog, q->name_func);
	case VAR_PROBENAME:
		return name_at(c->prog, q->name);
	case VAR_PID:
		return current->tgid;
	case VAR_TID:
		return current->pid;
	case VAR_PPID:
		return parent_of(READ_ONCE(current->group_leader))->tgid;
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

/* Arguments beyond the registers are on the stack, above the return address, while a function is at its entry. */
notrace u64 kinst_env_arg(struct kinst_ctx *c, u64 i)
{
	const struct kinst_hit *hit = c->hit;
	u64 v = 0;

	if (i < hit->nargs && i < ARRAY_SIZE(hit->args))
		return hit->args[i];
#ifdef CONFIG_X86_64
	if (i >= 6 && i < 64 && hit->kind == KINST_P_FBT_ENTRY && hit->regs)
		kinst_load(c, &v, hit->regs->sp + 8 * (i - 5), 8, false);
#endif
	return v;
}
NOKPROBE_SYMBOL(kinst_env_arg);

/* Elements of regs[] and uregs[]: the R_* constants of regs.d, in the order of illumos's amd64. */
static const s16 reg_offsets[] = {
#ifdef CONFIG_X86_64
#define REG(name) offsetof(struct pt_regs, name)
	REG(r15), REG(r14), REG(r13), REG(r12), REG(r11), REG(r10), REG(r9), REG(r8), REG(di), REG(si),
	REG(bp), REG(bx), REG(dx), REG(cx), REG(ax),
	-1, /* R_TRAPNO */
	REG(orig_ax), /* R_ERR */
	REG(ip), REG(cs), REG(flags), REG(sp), REG(ss),
#undef REG
#endif
};

notrace u64 kinst_env_reg(struct kinst_ctx *c, u64 i, bool user)
{
	const struct pt_regs *regs = c->hit->regs;
	u64 v;

	if (user)
		regs = current->mm ? task_pt_regs(current) : NULL;
	if (i >= ARRAY_SIZE(reg_offsets) || reg_offsets[i] < 0) {
		kinst_fault(c, KINST_FLT_ILLOP, i);
		return 0;
	}
	if (!regs)
		return 0; /* BEGIN, END; a kernel thread has no user registers */
	memcpy(&v, (const u8 *)regs + reg_offsets[i], sizeof(v));
	return v;
}
NOKPROBE_SYMBOL(kinst_env_reg);

/* ---- paths ---- */

#define PATH_DEPTH 256 /* components, mounts included */
#define MOUNT_OF_VFSMOUNT (sizeof(struct hlist_node) + offsetof(struct mount_head, mnt)) /* struct vfsmount in struct mount */

/* What stands before the struct vfsmount that a path has, in the kernel's private struct mount. */
struct mount_head {
	u64 parent; /* struct mount; the topmost is its own parent */
	u64 mountpoint; /* struct dentry in the parent */
	struct vfsmount mnt;
};

/* Puts the name of a dentry and a slash before s, which has room for it down to start; NULL: no room, or a fault. */
static notrace char *prepend(struct kinst_ctx *c, char *start, char *s, const struct dentry *d)
{
	u64 name = (u64)(uintptr_t)d->d_name.name, n = min_t(u64, d->d_name.len, s - start);

	if (n + 1 > s - start || !kinst_burn(c, 1 + n / 8))
		return NULL;
	s -= n;
	if (!kinst_load(c, s, name, n, false))
		return NULL;
	*--s = '/';
	return s;
}
NOKPROBE_SYMBOL(prepend);

/*
 * d_path(), seen from the topmost mount. Without the locks of the kernel's own: a rename in this
 * moment can show as a mixture, never as a fault that is not reported.
 */
static notrace u64 path_name(struct kinst_ctx *c, u64 addr)
{
	char *start = c->vcpu->str[0], *s = start + c->prog->strsize - 1, *end = s;
	struct mount_head mount;
	struct dentry d;
	struct path path;
	u64 dentry, vfsmnt;
	u32 depth;

	if (!kinst_load(c, &path, addr, sizeof(path), false))
		return 0;
	dentry = (u64)(uintptr_t)path.dentry;
	vfsmnt = (u64)(uintptr_t)path.mnt;
	for (depth = 0; depth < PATH_DEPTH; depth++) {
		u64 head = vfsmnt - offsetof(struct mount_head, mnt);
		char *next;

		if (!kinst_load(c, &d, dentry, sizeof(d), false) ||
		    !kinst_load(c, &mount, head, sizeof(mount), false))
			return 0;
		if (dentry == (u64)(uintptr_t)mount.mnt.mnt_root || dentry == (u64)(uintptr_t)d.d_parent) {
			if (mount.parent == vfsmnt - MOUNT_OF_VFSMOUNT)
				break;
			dentry = mount.mountpoint;
			vfsmnt = mount.parent + MOUNT_OF_VFSMOUNT;
			continue;
		}
		next = prepend(c, start, s, &d);
		if (!next)
			break;
		s = next;
		dentry = (u64)(uintptr_t)d.d_parent;
	}
	return c->faulted ? 0 : s == end ? kinst_new_string(c, "/", 1) : kinst_new_string(c, s, end - s);
}
NOKPROBE_SYMBOL(path_name);

/* ---- locks ---- */

/* The owner is in the upper bits of the word; the lower ones are flags. */
static notrace u64 mutex_owner(struct kinst_ctx *c, u64 addr)
{
	unsigned long owner = 0;

	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		kinst_load(c, &owner, addr + offsetof(struct mutex, owner), sizeof(owner), false);
	return owner & ~7ul;
}
NOKPROBE_SYMBOL(mutex_owner);

#define RWSEM_IS_WRITTEN 1ul
#define RWSEM_READERS 8 /* shift of their number */

static notrace u64 rwsem(struct kinst_ctx *c, u32 subr, u64 addr)
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

static notrace u64 next_random(struct kinst_vcpu *v)
{
	v->rand ^= v->rand << 13; /* xorshift64 */
	v->rand ^= v->rand >> 7;
	v->rand ^= v->rand << 17;
	return v->rand >> 33; /* an int that is not negative */
}
NOKPROBE_SYMBOL(next_random);

notrace u64 kinst_env_subr(struct kinst_ctx *c, u32 subr)
{
	u64 arg = c->tuple[0].value;

	switch (subr) {
	case SUBR_RAND:
		return next_random(c->vcpu);
	case SUBR_D_PATH:
		return path_name(c, arg);
	case SUBR_PROGENYOF:
		return progenyof(arg);
	case SUBR_MUTEX_OWNER:
		return mutex_owner(c, arg);
	case SUBR_MUTEX_OWNED:
		return mutex_owner(c, arg) == (u64)(uintptr_t)current;
	case SUBR_MUTEX_TYPE_ADAPTIVE:
		return 1; /* all mutexes of Linux are */
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
