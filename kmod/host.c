// SPDX-License-Identifier: GPL-2.0
/*
 * host.c: the functions that have breakpoints or jumps of ours, and what keeps kprobes out of them.
 *
 * Kprobes looks at a function's bytes when it takes a probe: it decodes from the start to know that the address
 * begins an instruction, and all of it to know that no branch leads into the five bytes that a jump of its own
 * would stand in. It sees through its own probes, but not through ours: the branch that we have displaced is
 * not there, and our jump is a jump to our detour. So the function's instructions are in the kernel's list of
 * places without kprobes as long as one of them is ours. Its ftrace site is not: what is there is ftrace's.
 *
 * Who came before is not touched: what he saw was true.
 */
#include <linux/hashtable.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "func.h"
#include "host.h"
#include "ksym.h"
#include "patch.h"
#include "refuse.h"
#include "sites.h"

static DEFINE_HASHTABLE(kinst_hosts, 10);
static LIST_HEAD(kinst_unchecked);

/* ---- what the kernel keeps kprobes out of by itself ---- */

struct kinst_range {
	unsigned long start, end;
};

/* The kernel's list without our entries, in order; it has thousands, and is searched from end to end there. */
static struct {
	struct kinst_range *range;
	unsigned int count;
	bool read; /* since the last module came or went */
} kinst_kept;

static struct list_head *kinst_kprobe_blacklist(void)
{
	return (struct list_head *)kinst_addr_kprobe_blacklist;
}

static struct kinst_host *kinst_host_find(unsigned long start)
{
	struct kinst_host *host;

	hash_for_each_possible(kinst_hosts, host, node, start)
		if (host->start == start)
			return host;
	return NULL;
}

static bool kinst_is_ours(const struct kprobe_blacklist_entry *entry)
{
	unsigned long size, offset;
	const struct kinst_host *host;

	if (!kinst_symbol_range(entry->start_addr, &size, &offset))
		return false;
	host = kinst_host_find(entry->start_addr - offset);
	return host && &host->out == entry;
}

static int kinst_by_start(const void *a, const void *b)
{
	const struct kinst_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Ranges that overlap become one, so that only one can hold an address. */
static void kinst_kept_merge(void)
{
	struct kinst_range *range = kinst_kept.range;
	unsigned int i, n = 0;

	sort(range, kinst_kept.count, sizeof(*range), kinst_by_start, NULL);
	for (i = 0; i < kinst_kept.count; i++) {
		if (n && range[i].start <= range[n - 1].end)
			range[n - 1].end = max(range[n - 1].end, range[i].end);
		else
			range[n++] = range[i];
	}
	kinst_kept.count = n;
}

/* The list changes under kprobe_mutex, which is part of the patch lock. */
static bool kinst_kept_read(void)
{
	const struct kprobe_blacklist_entry *entry;
	unsigned int count = 0;

	if (kinst_kept.read)
		return true;
	list_for_each_entry(entry, kinst_kprobe_blacklist(), list)
		count++;
	kvfree(kinst_kept.range);
	kinst_kept.count = 0;
	kinst_kept.range = kvmalloc_array(count + 1, sizeof(*kinst_kept.range), GFP_KERNEL);
	if (!kinst_kept.range)
		return false;
	list_for_each_entry(entry, kinst_kprobe_blacklist(), list) {
		if (kinst_is_ours(entry))
			continue;
		kinst_kept.range[kinst_kept.count++] = (struct kinst_range){ entry->start_addr, entry->end_addr };
	}
	kinst_kept_merge();
	kinst_kept.read = true;
	return true;
}

static bool kinst_is_in_kept(unsigned long addr)
{
	unsigned int lo = 0, hi = kinst_kept.count;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (kinst_kept.range[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < kinst_kept.count && kinst_kept.range[lo].start <= addr;
}

bool kinst_is_kept_out(const struct kinst_func *f)
{
	const char *dot = strchr(f->name, '.');
	char base[sizeof(f->name)];
	unsigned long start;

	/* Without memory nobody knows: then it is not for us either. */
	if (!kinst_kept_read() || kinst_is_in_kept(f->start) || kinst_is_in_kept(f->start + f->size - 1))
		return true;
	if (!dot)
		return false;
	/* The copies and parts that a compiler makes of a function are as it is. */
	strscpy(base, f->name, dot - f->name + 1);
	start = kinst_sym_kallsyms_lookup_name(base);
	return start && kinst_is_in_kept(start);
}

void kinst_hosts_module_changed(void)
{
	kinst_kept.read = false;
}

/* ---- hosts ---- */

struct kinst_host *kinst_host_get(const struct kinst_func *f)
{
	struct kinst_host *host = kinst_host_find(f->start);

	if (host) {
		host->sites++;
		return host;
	}
	host = kzalloc(sizeof(*host), GFP_KERNEL);
	if (!host)
		return NULL;
	host->start = f->start;
	host->sites = 1;
	host->out.start_addr = f->site ? f->site + KINST_FTRACE_LEN : f->start;
	host->out.end_addr = f->start + f->room;
	hash_add(kinst_hosts, &host->node, f->start);
	list_add_tail(&host->unchecked, &kinst_unchecked);
	list_add_tail_rcu(&host->out.list, kinst_kprobe_blacklist());
	return host;
}

void kinst_host_put(struct kinst_host *host)
{
	if (!host || --host->sites)
		return;
	/* Who reads the kernel's list has preemption off. */
	list_del_rcu(&host->out.list);
	list_del(&host->unchecked);
	hash_del(&host->node);
	kfree_rcu(host, rcu);
}

/* ---- kprobes that were on their way in ---- */

#define KINST_HOSTS_AT_ONCE 256

#ifdef CONFIG_OPTPROBES
/* It waits for its jump: that is taken from it, as if its instructions had never allowed one. */
static void kinst_kprobe_deny(struct kprobe *kp)
{
	struct optimized_kprobe *op = container_of(kp, struct optimized_kprobe, kp);

	if (list_empty(&op->list) || *(u8 *)kp->addr != KINST_BREAK) {
		pr_warn("kinst: a jump of kprobes at %pS covers where a branch leads\n", kp->addr);
		return;
	}
	list_del_init(&op->list);
	kp->flags &= ~KPROBE_FLAG_OPTIMIZED;
	op->optinsn.size = 0;
}

/* Of a kprobe that has become an aggregate, which alone can be a jump, or will be one. */
static struct kprobe *kinst_kprobe_over(unsigned long target)
{
	struct kprobe *kp;
	int i;

	for (i = 1; i < KINST_OPT_LEN; i++) {
		kp = kinst_sym_get_kprobe((void *)(target - i));
		if (kp && kp->flags & KPROBE_FLAG_OPTIMIZED)
			return kp;
	}
	return NULL;
}
#else
static void kinst_kprobe_deny(struct kprobe *kp) {}
static struct kprobe *kinst_kprobe_over(unsigned long target) { return NULL; }
#endif

static bool kinst_has_kprobe(const struct kinst_host *host)
{
	unsigned long addr;

	for (addr = host->out.start_addr; addr < host->out.end_addr; addr++)
		if (kinst_sym_get_kprobe((void *)addr))
			return true;
	return false;
}

/* What kprobes asks before it makes a jump, asked again with the instructions that are really there. */
static void kinst_host_check(const struct kinst_host *host)
{
	struct kinst_arch_insn insn;
	struct kinst_func *f;
	struct kprobe *kp;
	u32 i;

	if (!kinst_has_kprobe(host))
		return;
	f = kinst_func_get(host->start);
	for (i = 0; f && !f->reason && i < f->ninsns; i++) {
		kinst_func_decode(f, &f->insns[i], &insn);
		if (insn.flow != KINST_FLOW_JUMP && insn.flow != KINST_FLOW_BRANCH)
			continue;
		kp = kinst_func_has(f, insn.target) ? kinst_kprobe_over(insn.target) : NULL;
		if (kp)
			kinst_kprobe_deny(kp);
	}
	kinst_func_put(f);
}

static void kinst_hosts_check_some(void)
{
	struct kinst_host *host;
	unsigned int n;

	for (n = 0; n < KINST_HOSTS_AT_ONCE && !list_empty(&kinst_unchecked); n++) {
		host = list_first_entry(&kinst_unchecked, struct kinst_host, unchecked);
		list_del_init(&host->unchecked);
		kinst_host_check(host);
		cond_resched();
	}
}

static void kinst_hosts_check(struct work_struct *work)
{
	bool more;

	do {
		mutex_lock(&kinst_sites_mutex);
		kinst_patch_lock();
		kinst_hosts_check_some();
		more = !list_empty(&kinst_unchecked);
		kinst_patch_unlock();
		mutex_unlock(&kinst_sites_mutex);
		cond_resched();
	} while (more);
}

static DECLARE_DELAYED_WORK(kinst_hosts_checker, kinst_hosts_check);

/* Kprobes gives a kprobe its jump after five ticks: two are for those that waited for our lock. */
void kinst_hosts_check_soon(void)
{
	if (!list_empty(&kinst_unchecked))
		schedule_delayed_work(&kinst_hosts_checker, 2);
}

void kinst_hosts_exit(void)
{
	cancel_delayed_work_sync(&kinst_hosts_checker);
	kvfree(kinst_kept.range);
}
