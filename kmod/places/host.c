// SPDX-License-Identifier: GPL-2.0
/*
 * places/host.c: the functions that have our breakpoints or jumps, and how kprobes are kept out of them.
 *
 * Kprobes reads a function's bytes when a probe is registered: it decodes from the start to check that the address
 * begins an instruction, and decodes all of it to check that no branch leads into the five bytes of a kprobe's jump.
 * It sees through its own probes, but not through our sites: a displaced branch is missing, and our jump looks like
 * a branch to the detour. The function's instructions are therefore on the kernel's kprobes blacklist as long as it
 * has a site. Its ftrace site is not on the list: that belongs to ftrace.
 *
 * Earlier kprobes are left alone: they were checked against the kernel's own bytes.
 */
#include <linux/bsearch.h>
#include <linux/hashtable.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/stringhash.h>
#include <linux/string.h>

#include "arch/ksym.h"
#include "places/func.h"
#include "places/host.h"

static DEFINE_HASHTABLE(kinst_hosts, 10);

/* ---- the kernel's own kprobes blacklist ---- */

struct kinst_range {
	unsigned long start, end;
};

/*
 * The kernel's list without our entries, and the hashes of its functions' names, each sorted. The list has thousands
 * of entries, and the kernel searches it, and the names of all symbols, linearly.
 */
static struct {
	struct kinst_range *range;
	u64 *name;
	unsigned int count, names;
	bool read; /* since the last module load or unload, which clears it without a lock */
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

/* Merges overlapping ranges, so that only one can hold an address. */
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

static u64 kinst_name_hash(const char *name, size_t len)
{
	return (u64)full_name_hash(NULL, name, len) << 32 | full_name_hash(&kinst_kept, name, len);
}

static int kinst_by_hash(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void kinst_kept_forget(void)
{
	kvfree(kinst_kept.range);
	kvfree(kinst_kept.name);
	kinst_kept.range = NULL;
	kinst_kept.name = NULL;
	kinst_kept.count = 0;
	kinst_kept.names = 0;
}

/* The list changes under kprobe_mutex, which is part of the patch lock. */
static bool kinst_kept_read(void)
{
	const struct kprobe_blacklist_entry *entry;
	char name[KSYM_SYMBOL_LEN];
	unsigned int count = 0;

	if (READ_ONCE(kinst_kept.read))
		return true;
	/* A module changes the list before it clears this. */
	WRITE_ONCE(kinst_kept.read, true);
	list_for_each_entry(entry, kinst_kprobe_blacklist(), list)
		count++;
	kinst_kept_forget();
	kinst_kept.range = kvmalloc_array(count + 1, sizeof(*kinst_kept.range), GFP_KERNEL);
	kinst_kept.name = kvmalloc_array(count + 1, sizeof(*kinst_kept.name), GFP_KERNEL);
	if (!kinst_kept.range || !kinst_kept.name) {
		WRITE_ONCE(kinst_kept.read, false);
		return false;
	}
	list_for_each_entry(entry, kinst_kprobe_blacklist(), list) {
		if (kinst_is_ours(entry))
			continue;
		kinst_symbol_name(entry->start_addr, name);
		kinst_kept.name[kinst_kept.names++] = kinst_name_hash(name, strlen(name));
		kinst_kept.range[kinst_kept.count++] = (struct kinst_range){ entry->start_addr, entry->end_addr };
	}
	sort(kinst_kept.name, kinst_kept.names, sizeof(*kinst_kept.name), kinst_by_hash, NULL);
	kinst_kept_merge();
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
	u64 base;

	/* If the list cannot be allocated, every function is refused. */
	if (!kinst_kept_read() || kinst_is_in_kept(f->start) || kinst_is_in_kept(f->start + f->size - 1))
		return true;
	if (!dot)
		return false;
	/* A compiler's copies and parts of a function are treated like the function itself. */
	base = kinst_name_hash(f->name, dot - f->name);
	return bsearch(&base, kinst_kept.name, kinst_kept.names, sizeof(base), kinst_by_hash);
}

void kinst_hosts_module_changed(void)
{
	WRITE_ONCE(kinst_kept.read, false);
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
	list_add_tail_rcu(&host->out.list, kinst_kprobe_blacklist());
	return host;
}

void kinst_host_put(struct kinst_host *host)
{
	if (!host || --host->sites)
		return;
	/* Readers of the kernel's list have preemption off. */
	list_del_rcu(&host->out.list);
	hash_del(&host->node);
	kfree_rcu(host, rcu);
}

bool kinst_is_hosted(unsigned long addr)
{
	unsigned long size, offset;

	return kinst_symbol_range(addr, &size, &offset) && kinst_host_find(addr - offset);
}

void kinst_hosts_exit(void)
{
	kinst_kept_forget();
}
