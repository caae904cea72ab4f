// SPDX-License-Identifier: GPL-2.0
/*
 * places/walk.c: finds the functions of places/trappath.c by walking the calls in the running kernel's text.
 *
 * Context: process, at load; the sites' mutex is held.
 */
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "arch/ksym.h"
#include "patch/patch.h"
#include "places/read.h"
#include "places/trappath.h"
#include "places/walk.h"

/*
 * Listeners of tracepoints are called through a pointer: the kernel's events, perf and BPF programs. They guard
 * against recursion, but not from their first instruction on.
 */
static const char *const kinst_listener_roots[] = {
	"trace_event_buffer_reserve", "trace_event_buffer_commit", "trace_event_buffer_lock_reserve",
	"__trace_trigger_soft_disabled", "trace_event_ignore_this_pid", "perf_trace_buf_alloc", "perf_trace_run_bpf_submit",
	"bpf_trace_run1", "bpf_trace_run2", "bpf_trace_run3", "bpf_trace_run4", "bpf_trace_run5", "bpf_trace_run6",
	NULL
};

/*
 * Functions of a walk. Known kernels have 40 to 60 on the path and as many without handlers, or 2,000 to 3,000 if
 * these include the functions that log a line.
 */
#define KINST_WALK_MOST 8192

/* Adds the function at addr. False if the table is full. */
static bool kinst_walk_to(struct kinst_walk *w, unsigned long addr)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned long size, offset;

	if (!kinst_symbol_range(addr, &size, &offset) || kinst_has_walked(w, addr - offset))
		return true;
	kinst_symbol_name(addr - offset, name);
	if (kinst_begins_as(w->not, name))
		return true;
	if (w->n == KINST_WALK_MOST)
		return false;
	w->start[w->n++] = addr - offset;
	return true;
}

static bool kinst_walk_ends_at(const struct kinst_walk *w, const char *name)
{
	return kinst_begins_as(kinst_arch_walk_ends, name) || kinst_begins_as(w->ends, name);
}

/* Whether traps are handled after the instruction: it loads the table of handlers, or calls a function that does. */
static bool kinst_sets_handlers(const struct kinst_arch_insn *insn)
{
	char name[KSYM_SYMBOL_LEN];

	if (kinst_arch_loads_handlers(insn))
		return true;
	if (!insn->target)
		return false;
	kinst_symbol_name(insn->target, name);
	return kinst_is_listed(kinst_arch_sets_handlers, name);
}

/*
 * Follows all direct calls in the function, and its jumps to others. Some functions begin without handlers and set
 * them up; their text is laid out in execution order, and is followed up to that instruction.
 */
static bool kinst_walk_through(struct kinst_walk *w, unsigned long start)
{
	struct kinst_func *f = kinst_func_get(start);
	struct kinst_arch_insn insn;
	bool ok = f, begins;
	u32 i;

	begins = f && kinst_is_listed(kinst_arch_until_handlers, f->name);
	if (!ok || f->reason || kinst_walk_ends_at(w, f->name) || (w->untraced && f->site))
		goto out;
	for (i = 0; ok && i < f->ninsns; i++) {
		kinst_func_decode(f, &f->insns[i], &insn);
		if (insn.target && !kinst_func_has(f, insn.target))
			ok = kinst_walk_to(w, insn.target);
		if (begins && kinst_sets_handlers(&insn))
			break;
	}
out:
	kinst_func_put(f);
	return ok;
}

static bool kinst_walk(struct kinst_walk *w, const char *const *root)
{
	unsigned int i;

	if (!w->start)
		w->start = kvmalloc_array(KINST_WALK_MOST, sizeof(*w->start), GFP_KERNEL);
	if (!w->start)
		return false;
	for (; *root; root++) {
		unsigned long addr = kinst_sym_kallsyms_lookup_name(*root);

		if (addr && !kinst_walk_to(w, addr))
			return false;
	}
	for (i = 0; i < w->n; i++)
		if (!kinst_walk_through(w, w->start[i]))
			return false;
	return true;
}

/* A tracepoint calls a function of that name, which calls the listeners. */
static bool kinst_walk_has_tracepoint(const struct kinst_walk *w)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;

	for (i = 0; i < w->n; i++) {
		kinst_symbol_name(w->start[i], name);
		if (strstarts(name, "__traceiter_"))
			return true;
	}
	return false;
}

static bool kinst_walk_trap_path(void)
{
	return kinst_walk(&kinst_trap_path, kinst_arch_walk_roots) &&
	       (!kinst_walk_has_tracepoint(&kinst_trap_path) || kinst_walk(&kinst_listeners, kinst_listener_roots));
}

static bool kinst_walk_set_up(const char *const *roots)
{
	return kinst_walk(&kinst_set_up, roots) &&
	       (!kinst_has_walked(&kinst_set_up, kinst_sym_kallsyms_lookup_name("_printk")) ||
		kinst_walk(&kinst_set_up, kinst_arch_log_roots));
}

/* After this nothing is added. */
static void kinst_walk_end(struct kinst_walk *w)
{
	unsigned long *start = kvmalloc_array(w->n, sizeof(*start), GFP_KERNEL);

	if (start) {
		memcpy(start, w->start, w->n * sizeof(*start));
		kvfree(w->start);
		w->start = start;
	}
	sort(w->start, w->n, sizeof(*w->start), kinst_compare_addrs, NULL);
	w->done = true;
}

int kinst_trap_path_init(void)
{
	const char *const *roots = kinst_arch_set_up_roots();
	unsigned int i;
	bool whole;

	kinst_patch_lock();
	whole = kinst_walk_trap_path() && kinst_walk(&kinst_no_trap, kinst_arch_no_trap) &&
		(!roots || kinst_walk_set_up(roots));
	kinst_patch_unlock();
	for (i = 0; i < ARRAY_SIZE(kinst_walks); i++)
		if (kinst_walks[i]->n)
			kinst_walk_end(kinst_walks[i]);
	if (whole)
		return 0;
	kinst_trap_path_exit();
	pr_err("kinst: too many functions of this kernel run where breakpoints are not handled\n");
	return -EOPNOTSUPP;
}
