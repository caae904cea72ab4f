// SPDX-License-Identifier: GPL-2.0
/*
 * places/trappath.c: the functions from which no breakpoint leads to our handler, and
 * that kprobes itself does not exclude.
 *
 * Those on the path run between a breakpoint and our handler, or after it on the way
 * back; kprobes is called earlier than we are. A probe in one of them would hit itself
 * until the stack is full. They are found in two ways, as neither is sufficient alone: by
 * name, and by a walk, at load, over all calls in the text of the running kernel, since
 * another configuration has other functions there (lockdep, sanitizers).
 *
 * The others run where no trap is handled. Their names, and those where the walk begins
 * and ends, come from the architecture.
 */
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "places/func.h"
#include "ksym.h"
#include "text/patch.h"
#include "text/sites.h"
#include "places/trappath.h"

/* Compares the name without the suffix that a compiler adds for a copy or a part (.cold, .isra.0). */
static bool kinst_is_listed(const char *const *names, const char *name)
{
	size_t len = strcspn(name, ".");

	for (; *names; names++)
		if (**names == *name && !strncmp(*names, name, len) && !(*names)[len])
			return true;
	return false;
}

bool kinst_has_no_trap(const char *name)
{
	return kinst_is_listed(kinst_arch_no_trap, name);
}

/* ---- the walk ---- */

#define KINST_WALK_MOST 256 /* functions; known kernels have from 20 to 90 */

/* The start addresses of the functions found; written only at load. */
static unsigned long kinst_walked[KINST_WALK_MOST];
static unsigned int kinst_nwalked;

static bool kinst_has_walked(unsigned long start)
{
	unsigned int i;

	for (i = 0; i < kinst_nwalked; i++)
		if (kinst_walked[i] == start)
			return true;
	return false;
}

/* Adds the function at addr to them. False if there is no room for it. */
static bool kinst_walk_to(unsigned long addr)
{
	unsigned long size, offset;

	if (!kinst_symbol_range(addr, &size, &offset) || kinst_has_walked(addr - offset))
		return true;
	if (kinst_nwalked == KINST_WALK_MOST)
		return false;
	kinst_walked[kinst_nwalked++] = addr - offset;
	return true;
}

static bool kinst_walk_ends_at(const char *name)
{
	const char *const *end;

	for (end = kinst_arch_walk_ends; *end; end++)
		if (strstarts(name, *end))
			return true;
	return false;
}

/* Follows all direct calls in the function, and its jumps to others. */
static bool kinst_walk_through(unsigned long start)
{
	struct kinst_func *f = kinst_func_get(start);
	struct kinst_arch_insn insn;
	bool ok = f;
	u32 i;

	for (i = 0; ok && !f->reason && !kinst_walk_ends_at(f->name) && i < f->ninsns; i++) {
		kinst_func_decode(f, &f->insns[i], &insn);
		if (insn.target && !kinst_func_has(f, insn.target))
			ok = kinst_walk_to(insn.target);
	}
	kinst_func_put(f);
	return ok;
}

static bool kinst_walk(void)
{
	const char *const *root;
	unsigned long addr;
	unsigned int i;

	for (root = kinst_arch_walk_roots; *root; root++) {
		addr = kinst_sym_kallsyms_lookup_name(*root);
		if (addr && !kinst_walk_to(addr))
			return false;
	}
	for (i = 0; i < kinst_nwalked; i++)
		if (!kinst_walk_through(kinst_walked[i]))
			return false;
	return true;
}

int kinst_trap_path_init(void)
{
	bool whole;

	mutex_lock(&kinst_sites_mutex);
	kinst_patch_lock();
	whole = kinst_walk();
	kinst_patch_unlock();
	mutex_unlock(&kinst_sites_mutex);
	if (whole)
		return 0;
	pr_err("kinst: on this kernel more runs between a breakpoint and its handler than can be kept free of breakpoints\n");
	return -EOPNOTSUPP;
}

bool kinst_is_trap_path(const struct kinst_func *f)
{
	return kinst_has_walked(f->start) || kinst_is_listed(kinst_arch_trap_path, f->name) || kinst_arch_is_thunk_name(f->name);
}
