// SPDX-License-Identifier: GPL-2.0
/*
 * session/queries.c: the query ioctls: the counters and aggregations of a session, and the state of the kernel.
 *
 * Context: process; the file's lock is held.
 */
#include <linux/cpu.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include "points/insns.h"
#include "providers/syscall.h"
#include "session/limits.h"
#include "session/queries.h"
#include "text/jump.h"

long kinst_query_status(struct kinst_session *s, bool loaded, void __user *arg)
{
	struct kinst_status st = { .state = READ_ONCE(s->state) };
	u32 i;

	smp_rmb(); /* pairs with exit() */
	st.exit_status = READ_ONCE(s->exit_status);
	for (i = 0; loaded && i < s->ncpus; i++) {
		struct kinst_vcpu *v = s->vcpus[i];
		struct kinst_dyncpu *d = &s->vars.cpus[i];

		if (!v)
			continue;
		st.dyn_drops += READ_ONCE(d->drops);
		st.dyn_drops_dirty += READ_ONCE(d->drops_dirty);
		st.dyn_drops_rinsing += READ_ONCE(d->drops_rinsing);
		st.spec_drops += READ_ONCE(v->spec_drops);
		st.spec_busy += READ_ONCE(v->spec_busy);
		st.spec_unavail += READ_ONCE(v->spec_unavail);
		st.dblerrors += READ_ONCE(v->dblerrors);
		st.nested += local_read(&v->nested);
		st.hits += READ_ONCE(v->hits);
	}
	return copy_to_user(arg, &st, sizeof(st)) ? -EFAULT : 0;
}

struct agg_switch {
	struct kinst_aggbuf *buf;
	struct kinst_agghalf *old;
};

/*
 * Runs on the buffer's CPU, in an interrupt: no program is in the middle of an
 * update, except those of NMIs, which end before this returns.
 */
static void switch_agg(void *info)
{
	struct agg_switch *sw = info;

	sw->old = kinst_agg_switch(sw->buf);
}

/* Switches the CPU to the other half of its buffer, and returns the half that it used before. */
static struct kinst_agghalf *change_agg(struct kinst_aggbuf *b, u32 cpu)
{
	struct agg_switch sw = { .buf = b };

	cpus_read_lock();
	if (smp_call_function_single(cpu, switch_agg, &sw, true))
		switch_agg(&sw); /* the CPU is off and runs no programs */
	cpus_read_unlock();
	return sw.old;
}

static int copy_aggs(struct kinst_aggbuf *b, struct kinst_agghalf *h, struct kinst_aggsnap *snap)
{
	u8 __user *to = u64_to_user_ptr(snap->buf);
	const struct kinst_agg_entry *e;
	u64 pos = 0;

	while ((e = kinst_agg_next(h, &pos))) {
		if (e->len > snap->size - snap->used || copy_to_user(to + snap->used, e, e->len))
			return -EFAULT;
		snap->used += e->len;
		cond_resched();
	}
	return 0;
}

long kinst_query_aggregations(struct kinst_session *s, bool loaded, void __user *arg)
{
	struct kinst_aggsnap snap;
	struct kinst_agghalf *left;
	struct kinst_vcpu *v;
	int ret = 0;

	if (copy_from_user(&snap, arg, sizeof(snap)))
		return -EFAULT;
	if (!loaded || snap.reserved)
		return -EINVAL;
	v = snap.cpu < s->ncpus ? s->vcpus[snap.cpu] : NULL;
	if (!v)
		return -ENODEV;
	snap.used = 0;
	if (v->agg.size) {
		left = change_agg(&v->agg, snap.cpu);
		/* Its size is final only now. If it does not fit, switch back: nothing is lost. */
		if (snap.size < left->used) {
			change_agg(&v->agg, snap.cpu);
			return -ENOSPC;
		}
		ret = copy_aggs(&v->agg, left, &snap);
		kinst_agg_clear(&v->agg, left);
	}
	snap.drops = READ_ONCE(v->agg.drops);
	if (copy_to_user(arg, &snap, sizeof(snap)))
		ret = -EFAULT;
	return ret;
}

long kinst_query_fired(const struct kinst_session *s, bool loaded, void __user *arg)
{
	struct kinst_fired fired;
	u8 __user *to;
	u32 i;

	if (copy_from_user(&fired, arg, sizeof(fired)))
		return -EFAULT;
	if (!loaded || fired.reserved || fired.count != s->prog.hdr->probes.count)
		return -EINVAL;
	to = u64_to_user_ptr(fired.buf);
	for (i = 0; i < fired.count; i++) {
		const struct kinst_turn *turn = s->prog.first[i];

		if (put_user(!turn ? KINST_FIRED_NO : READ_ONCE(turn->ran) ? KINST_FIRED_YES :
			     READ_ONCE(turn->left) ? KINST_FIRED_LEFT : KINST_FIRED_NO, to + i))
			return -EFAULT;
		cond_resched();
	}
	return 0;
}

long kinst_query_info(void __user *arg)
{
	struct kinst_info info = {
		.abi = KINST_ABI_VERSION,
		.ncpus = nr_cpu_ids,
		.max_probes = kinst_max_probes(),
		.max_insns = kinst_max_insns(),
		.max_memory = kinst_max_memory(),
		.max_once = kinst_max_once(),
	};

	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

#define MAX_INSNS_OF_FUNC 65536

long kinst_query_insns(void __user *arg)
{
	struct kinst_insns info;
	struct kinst_insn *buf;
	u32 room;
	int ret;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	if (info.reserved)
		return -EINVAL;
	room = min_t(u32, info.count, MAX_INSNS_OF_FUNC);
	buf = kvcalloc((size_t)room + 1, sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	ret = kinst_points_insns(info.func, buf, room, &info);
	if (!ret && copy_to_user(u64_to_user_ptr(info.buf), buf, min(room, info.count) * sizeof(*buf)))
		ret = -EFAULT;
	kvfree(buf);
	if (!ret && copy_to_user(arg, &info, sizeof(info)))
		ret = -EFAULT;
	return ret;
}

long kinst_query_syscalls(void __user *arg)
{
	struct kinst_syscalls info;
	u64 __user *buf;
	u32 i, count = kinst_syscall_count();

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	if (info.reserved)
		return -EINVAL;
	buf = u64_to_user_ptr(info.buf);
	for (i = 0; i < count && i < info.count; i++)
		if (put_user(kinst_syscall_function(i), &buf[i]))
			return -EFAULT;
	info.count = count;
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

long kinst_query_settle(void __user *arg)
{
	struct kinst_settled settled = { .jumps = kinst_jumps_settle() };

	return copy_to_user(arg, &settled, sizeof(settled)) ? -EFAULT : 0;
}
