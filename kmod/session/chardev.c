// SPDX-License-Identifier: GPL-2.0
/*
 * session/chardev.c: /dev/dtrace/kinst. A session is an open file.
 *
 * Locking: file->lock orders the ioctls of one session. It is held while user
 * memory is copied, so mmap (which comes with mmap_lock held) does not take it:
 * the rings exist from the moment LOAD publishes them until the last close.
 *
 * Context: process, except wake_consumer().
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/cpu.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "compat/vma.h"
#include "program/kernel/guard.h"
#include "program/alloc.h"
#include "program/session.h"
#include "program/spec.h"
#include "providers/dtrace.h"
#include "providers/sources.h"
#include "session/chardev.h"
#include "session/limits.h"
#include "session/queries.h"

static unsigned int deadman = 30;
module_param(deadman, uint, 0600);
MODULE_PARM_DESC(deadman, "kill a session after this many seconds without an ioctl from its consumer (0: never)");

#define KINST_FEW_PROBES 1000 /* quickly disarmed; with more, an exiting process does not wait for it */
#define CLEAN_US 10000 /* between two cleanings, unless set by the image */

struct kinst_file {
	struct kinst_session s;
	struct mutex lock;
	bool loaded; /* published with release: s.vcpus may be mapped */
	void *image;
	u64 charged; /* bytes, of the limit for all sessions */
	struct kinst_sources sources;
	unsigned long last_call; /* jiffies of the last ioctl */
	wait_queue_head_t wait;
	struct irq_work wake;
	struct delayed_work deadman;
	struct delayed_work cleaner;
	struct mutex clean_lock; /* one cleaner at a time */
	struct work_struct closer;
	u32 *noted; /* states of the speculations that are being cleaned */
};

/* ---- wake-ups ---- */

static void wake_consumer(struct irq_work *work)
{
	struct kinst_file *f = container_of(work, struct kinst_file, wake);

	wake_up_interruptible(&f->wait);
}

/* ---- background work of a session ---- */

static void check_deadman(struct work_struct *work)
{
	struct kinst_file *f = container_of(to_delayed_work(work), struct kinst_file, deadman);
	unsigned long end = READ_ONCE(f->last_call) + READ_ONCE(deadman) * HZ;

	if (deadman && time_after(jiffies, end) &&
	    cmpxchg(&f->s.state, KINST_STATE_ACTIVE, KINST_STATE_KILLED) == KINST_STATE_ACTIVE) {
		wake_up_interruptible(&f->wait);
		return;
	}
	schedule_delayed_work(&f->deadman, HZ);
}

static unsigned long clean_interval(const struct kinst_file *f)
{
	return usecs_to_jiffies(f->s.prog.hdr->clean_us ?: CLEAN_US) ?: 1;
}

struct spec_clean {
	struct kinst_file *f;
	struct kinst_vcpu *v;
	bool done;
};

/* Runs on v's CPU, in an interrupt: no program is running, and the guard keeps out those of NMIs. */
static void clean_specs_here(void *info)
{
	struct spec_clean *sc = info;
	u32 busy = kinst_guard_enter();

	sc->done = kinst_spec_clean(&sc->f->s, sc->v, sc->f->noted);
	kinst_guard_exit(busy);
}

/* Cleans a little at a time, with interrupts on in between. */
static void clean_specs_of(struct spec_clean *sc)
{
	sc->done = !sc->v;
	while (!sc->done) {
		if (smp_call_function_single(sc->v->cpu, clean_specs_here, sc, true))
			sc->done = kinst_spec_clean(&sc->f->s, sc->v, sc->f->noted); /* the CPU is off */
		cond_resched();
	}
}

/* Commits and discards the records on CPUs other than the deciding one. */
static void clean_specs(struct kinst_file *f)
{
	struct spec_clean sc = { .f = f };
	u32 cpu;

	mutex_lock(&f->clean_lock);
	if (kinst_spec_clean_start(&f->s, f->noted)) {
		cpus_read_lock();
		for (cpu = 0; cpu < f->s.ncpus; cpu++) {
			sc.v = f->s.vcpus[cpu];
			clean_specs_of(&sc);
		}
		cpus_read_unlock();
		kinst_spec_clean_end(&f->s, f->noted);
	}
	mutex_unlock(&f->clean_lock);
}

static void clean(struct work_struct *work)
{
	struct kinst_file *f = container_of(to_delayed_work(work), struct kinst_file, cleaner);

	if (kinst_vars_collect(&f->s.vars)) {
		synchronize_rcu(); /* programs run with interrupts off: all that ran at collect() have ended */
		kinst_vars_release(&f->s.vars);
	}
	if (kinst_spec_dirty(&f->s))
		clean_specs(f);
	schedule_delayed_work(&f->cleaner, clean_interval(f));
}

static bool needs_cleaner(const struct kinst_prog *p)
{
	u32 i;

	if (p->speculates)
		return true;

	for (i = 0; i < p->hdr->vars.count; i++)
		if (!p->vars[i].kind || p->vars[i].scope == SCOPE_THREAD)
			return true;
	return false;
}

/* ---- LOAD ---- */

static int copy_image(struct kinst_file *f, const struct kinst_load *l)
{
	if (l->image_len < sizeof(struct kinst_image) || l->image_len > KINST_MAX_IMAGE)
		return -EINVAL;
	f->image = kvmalloc(l->image_len, GFP_KERNEL_ACCOUNT);
	if (!f->image)
		return -ENOMEM;
	if (!copy_from_user(f->image, u64_to_user_ptr(l->image), l->image_len))
		return 0;
	kvfree(f->image);
	f->image = NULL;
	return -EFAULT;
}

/* Arms the probes and reports the result of each. */
static int arm(struct kinst_file *f, const struct kinst_load *l)
{
	u32 n = f->s.prog.hdr->probes.count;
	struct kinst_result *res;
	int ret;

	if (l->nresults != n)
		return -EINVAL;
	res = kvcalloc((size_t)n + 1, sizeof(*res), GFP_KERNEL);
	if (!res)
		return -ENOMEM;
	ret = kinst_sources_arm(&f->sources, &f->s, res);
	if (!ret && copy_to_user(u64_to_user_ptr(l->results), res, n * sizeof(*res))) {
		kinst_sources_disarm(&f->sources);
		ret = -EFAULT;
	}
	kvfree(res);
	return ret;
}

/* Sets the session's share of the memory limit for all sessions. */
static int charge(struct kinst_file *f, u64 bytes)
{
	int ret;

	kinst_limits_uncharge(f->charged);
	f->charged = 0;
	ret = kinst_limits_charge(bytes);
	if (!ret)
		f->charged = bytes;
	return ret;
}

/* Called with the file's lock held, while LOAD arms. */
static int charge_more(struct kinst_session *s, u64 bytes)
{
	struct kinst_file *f = container_of(s, struct kinst_file, s);
	int ret;

	if (bytes > kinst_max_memory() || f->charged > kinst_max_memory() - bytes)
		return -ENOMEM;
	ret = kinst_limits_charge(bytes);
	if (!ret)
		f->charged += bytes;
	return ret;
}

/* Checks the requests of a valid image against the permissions and limits. */
static int permit(struct kinst_file *f, struct kinst_error *error)
{
	u64 bytes = kinst_session_bytes(&f->s.prog, num_possible_cpus(), nr_cpu_ids);
	int ret = f->s.prog.hdr->flags & KINST_IMAGE_DESTRUCTIVE ? kinst_may_destroy() : 0;

	if (ret)
		return ret;
	if (bytes > kinst_max_memory())
		return kinst_refuse(error, KINST_V_LIMIT, KINST_NONE, KINST_NONE);
	return charge(f, bytes);
}

static int load(struct kinst_file *f, struct kinst_load *l)
{
	struct kinst_limits lim = { .max_insns = kinst_max_insns() };
	const struct kinst_image *hdr;
	int ret;

	ret = charge(f, kinst_image_bytes(l->image_len));
	if (ret)
		return ret;
	ret = copy_image(f, l);
	if (ret)
		goto uncharge;
	hdr = f->image;
	lim.max_probes = hdr->flags & KINST_IMAGE_ONCE ? kinst_max_once() : kinst_max_probes();
	ret = kinst_image_parse(&f->s.prog, f->image, l->image_len, &lim, &l->error);
	if (ret)
		goto free_image;
	ret = permit(f, &l->error);
	if (ret)
		goto free_prog;
	ret = kinst_session_alloc(&f->s, nr_cpu_ids);
	if (ret)
		goto free_prog;
	f->noted = kvcalloc(f->s.prog.hdr->nspec + 1, sizeof(*f->noted), GFP_KERNEL);
	ret = f->noted ? 0 : -ENOMEM;
	if (ret)
		goto free_session;
	ret = arm(f, l);
	if (ret == -EINTR) {
		/* The process is dying. The armed probes are removed when the file is closed, which may take longer. */
		WRITE_ONCE(f->s.state, KINST_STATE_STOPPED);
		smp_store_release(&f->loaded, true);
		return ret;
	}
	if (ret)
		goto free_noted;
	if (needs_cleaner(&f->s.prog))
		schedule_delayed_work(&f->cleaner, clean_interval(f));
	smp_store_release(&f->loaded, true);
	return 0;

free_noted:
	kvfree(f->noted);
	f->noted = NULL;
free_session:
	kinst_session_free(&f->s);
free_prog:
	kinst_image_free(&f->s.prog);
free_image:
	kvfree(f->image);
	f->image = NULL;
uncharge:
	charge(f, 0);
	return ret;
}

static long ioctl_load(struct kinst_file *f, void __user *arg)
{
	struct kinst_load l;
	int ret;

	if (copy_from_user(&l, arg, sizeof(l)))
		return -EFAULT;
	if (f->loaded)
		return -EBUSY;
	l.error = (struct kinst_error){ .difo = KINST_NONE, .index = KINST_NONE };
	ret = load(f, &l);
	if (copy_to_user(arg, &l, sizeof(l)) && !ret)
		ret = -EFAULT; /* the image stays loaded; the caller can only close the file */
	return ret;
}

/* ---- GO, STOP ---- */

static long ioctl_go(struct kinst_file *f)
{
	if (!f->loaded || cmpxchg(&f->s.state, KINST_STATE_INACTIVE, KINST_STATE_WARMUP) != KINST_STATE_INACTIVE)
		return -EINVAL;
	kinst_dtrace_begin(&f->s);
	kinst_sources_ready(&f->sources);
	/* Unless BEGIN called exit(). */
	if (cmpxchg(&f->s.state, KINST_STATE_WARMUP, KINST_STATE_ACTIVE) == KINST_STATE_WARMUP)
		kinst_sources_start(&f->sources);
	schedule_delayed_work(&f->deadman, HZ);
	return 0;
}

static struct workqueue_struct *closers;

static bool has_many_probes(const struct kinst_file *f)
{
	return f->loaded && f->s.prog.hdr->probes.count > KINST_FEW_PROBES;
}

static long ioctl_stop(struct kinst_file *f)
{
	u32 state = READ_ONCE(f->s.state);

	if (state != KINST_STATE_ACTIVE && state != KINST_STATE_DRAINING && state != KINST_STATE_KILLED)
		return -EINVAL;
	/* exit() on another CPU may still turn ACTIVE into DRAINING, but nothing leaves COOLDOWN. */
	xchg(&f->s.state, KINST_STATE_COOLDOWN);
	if (has_many_probes(f))
		kinst_sources_silence(&f->sources);
	else
		kinst_sources_disarm(&f->sources);
	/* No other program runs now: END is the last one. */
	kinst_dtrace_end(&f->s);
	clean_specs(f); /* all commits are complete when the state is STOPPED */
	WRITE_ONCE(f->s.state, KINST_STATE_STOPPED);
	wake_up_interruptible(&f->wait);
	return 0;
}

/* ---- the file ---- */

/*
 * After the file was opened, it may have been passed to another process, the capability may have been dropped, or
 * lockdown enabled. A running session continues; it can still be stopped, and its status read.
 */
static int may_call(unsigned int cmd)
{
	if (cmd == KINST_IOC_STOP || cmd == KINST_IOC_STATUS)
		return capable(CAP_SYS_ADMIN) ? 0 : -EPERM;
	return kinst_may_trace();
}

static long kinst_ioctl(struct file *file, unsigned int cmd, unsigned long param)
{
	struct kinst_file *f = file->private_data;
	void __user *arg = (void __user *)param;
	long ret;

	ret = may_call(cmd);
	if (ret)
		return ret;
	if (mutex_lock_interruptible(&f->lock))
		return -EINTR;
	WRITE_ONCE(f->last_call, jiffies);
	switch (cmd) {
	case KINST_IOC_INFO:
		ret = kinst_query_info(arg);
		break;
	case KINST_IOC_INSNS:
		ret = kinst_query_insns(arg);
		break;
	case KINST_IOC_LOAD:
		ret = ioctl_load(f, arg);
		break;
	case KINST_IOC_GO:
		ret = ioctl_go(f);
		break;
	case KINST_IOC_STOP:
		ret = ioctl_stop(f);
		break;
	case KINST_IOC_STATUS:
		ret = kinst_query_status(&f->s, f->loaded, arg);
		break;
	case KINST_IOC_AGGSNAP:
		ret = kinst_query_aggregations(&f->s, f->loaded, arg);
		break;
	case KINST_IOC_FIRED:
		ret = kinst_query_fired(&f->s, f->loaded, arg);
		break;
	case KINST_IOC_SYSCALLS:
		ret = kinst_query_syscalls(arg);
		break;
	case KINST_IOC_SETTLE:
		ret = kinst_query_settle(arg);
		break;
	default:
		ret = -ENOTTY;
	}
	mutex_unlock(&f->lock);
	return ret;
}

/* The offset is cpu * KINST_RING_PAGES plus a page of the ring; only the first page may be written. */
static int kinst_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kinst_file *f = file->private_data;
	unsigned long cpu = vma->vm_pgoff / KINST_RING_PAGES, first = vma->vm_pgoff % KINST_RING_PAGES;
	unsigned long pages = vma_pages(vma);
	int ret = kinst_may_trace();

	if (ret)
		return ret;
	if (!smp_load_acquire(&f->loaded))
		return -EINVAL;
	if (cpu >= f->s.ncpus || !f->s.vcpus[cpu] || !(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	if (first || pages != 1) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		kinst_vma_clear_flags(vma, VM_MAYWRITE);
	}
	kinst_vma_clear_flags(vma, VM_MAYEXEC);
	kinst_vma_set_flags(vma, VM_DONTCOPY); /* a child does not consume, and may be less privileged */
	return remap_vmalloc_range(vma, f->s.vcpus[cpu]->ring.mem, first); /* checks the end */
}

static __poll_t kinst_poll(struct file *file, poll_table *wait)
{
	struct kinst_file *f = file->private_data;
	u32 i, state;

	poll_wait(file, &f->wait, wait);
	if (!smp_load_acquire(&f->loaded))
		return EPOLLERR;
	state = READ_ONCE(f->s.state);
	if (state >= KINST_STATE_DRAINING)
		return EPOLLIN | EPOLLRDNORM;
	for (i = 0; i < f->s.ncpus; i++)
		if (f->s.vcpus[i] && kinst_ring_has_data(&f->s.vcpus[i]->ring))
			return EPOLLIN | EPOLLRDNORM;
	return 0;
}

/* The mirror of open and load, in any state. */
static void close_file(struct kinst_file *f)
{
	kinst_sources_disarm(&f->sources);
	cancel_delayed_work_sync(&f->deadman);
	cancel_delayed_work_sync(&f->cleaner);
	irq_work_sync(&f->wake);
	if (f->loaded) {
		kvfree(f->noted);
		kinst_session_free(&f->s);
		kinst_image_free(&f->s.prog);
		kvfree(f->image);
	}
	kinst_limits_uncharge(f->charged);
	mutex_destroy(&f->clean_lock);
	mutex_destroy(&f->lock);
	kfree(f);
	kinst_limits_leave();
}

static void close_later(struct work_struct *work)
{
	close_file(container_of(work, struct kinst_file, closer));
}

static int kinst_open(struct inode *inode, struct file *file)
{
	struct kinst_file *f;
	int ret = kinst_may_trace();

	if (ret)
		return ret;
	ret = kinst_limits_enter();
	if (ret)
		return ret;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f) {
		kinst_limits_leave();
		return -ENOMEM;
	}
	mutex_init(&f->lock);
	mutex_init(&f->clean_lock);
	init_waitqueue_head(&f->wait);
	init_irq_work(&f->wake, wake_consumer);
	f->s.wake = &f->wake;
	f->s.charge = charge_more;
	INIT_WORK(&f->closer, close_later);
	INIT_DELAYED_WORK(&f->deadman, check_deadman);
	INIT_DELAYED_WORK(&f->cleaner, clean);
	f->last_call = jiffies;
	file->private_data = f;
	return nonseekable_open(inode, file);
}

/*
 * The last reference was dropped: no ioctl runs, and no mapping exists. A process that exits with thousands of probes
 * armed does not wait until they are disarmed.
 */
static int kinst_release(struct inode *inode, struct file *file)
{
	struct kinst_file *f = file->private_data;

	WRITE_ONCE(f->s.state, KINST_STATE_STOPPED);
	if (current->flags & PF_EXITING && has_many_probes(f))
		queue_work(closers, &f->closer);
	else
		close_file(f);
	return 0;
}

static const struct file_operations kinst_fops = {
	.owner = THIS_MODULE,
	.open = kinst_open,
	.release = kinst_release,
	.unlocked_ioctl = kinst_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = kinst_mmap,
	.poll = kinst_poll,
};

static struct miscdevice kinst_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kinst",
	.nodename = "dtrace/kinst",
	.mode = 0600,
	.fops = &kinst_fops,
};

int kinst_chardev_init(void)
{
	int err;

	closers = alloc_workqueue("kinst_close", WQ_UNBOUND, 0);
	if (!closers)
		return -ENOMEM;
	err = misc_register(&kinst_misc);
	if (err)
		destroy_workqueue(closers);
	return err;
}

void kinst_chardev_exit(void)
{
	misc_deregister(&kinst_misc);
	destroy_workqueue(closers);
}
