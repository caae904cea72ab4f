// SPDX-License-Identifier: GPL-2.0
/*
 * places/trappath.c: the functions from which no breakpoint leads to our handler, and
 * that kprobes itself does not exclude.
 *
 * Those on the path run between a breakpoint and our handler, or after it on the way
 * back; kprobes is called earlier than we are. A probe in one of them would hit itself
 * until the stack is full. The others run where no trap is handled.
 *
 * Both are found in two ways, as neither is sufficient alone: by name, and by a walk, at
 * load, over all calls in the text of the running kernel, since another configuration has
 * other functions there (lockdep, sanitizers, alternatives). The names, and those where
 * the walks begin and end, come from the architecture.
 */
#include <linux/kallsyms.h>
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

/* ---- the walks ---- */

#define KINST_WALK_MOST 512 /* functions; known kernels have from 20 to 90 on the path */

/* Functions, and what is called by them, and by these in their turn; written only at load. */
struct kinst_walk {
	const char *const *ends; /* more beginnings of names than in kinst_arch_walk_ends, or NULL */
	unsigned int n;
	unsigned long start[KINST_WALK_MOST];
};

static struct kinst_walk kinst_trap_path;
static struct kinst_walk kinst_no_trap = { .ends = kinst_arch_no_trap_ends };

static bool kinst_has_walked(const struct kinst_walk *w, unsigned long start)
{
	unsigned int i;

	for (i = 0; i < w->n; i++)
		if (w->start[i] == start)
			return true;
	return false;
}

/* Adds the function at addr to them. False if there is no room for it. */
static bool kinst_walk_to(struct kinst_walk *w, unsigned long addr)
{
	unsigned long size, offset;

	if (!kinst_symbol_range(addr, &size, &offset) || kinst_has_walked(w, addr - offset))
		return true;
	if (w->n == KINST_WALK_MOST)
		return false;
	w->start[w->n++] = addr - offset;
	return true;
}

/* Whether the name begins as one of those does, of functions that are not followed. */
static bool kinst_ends_at(const char *const *ends, const char *name)
{
	for (; *ends; ends++)
		if (strstarts(name, *ends))
			return true;
	return false;
}

static bool kinst_walk_ends_at(const struct kinst_walk *w, const char *name)
{
	return kinst_ends_at(kinst_arch_walk_ends, name) || (w->ends && kinst_ends_at(w->ends, name));
}

/* Whether traps are handled after the instruction: it loads the table of handlers, or calls what does. */
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
 * Follows all direct calls in the function, and its jumps to others. Some functions begin without handlers and set them
 * up; their text is in the order in which it runs, and is followed up to there.
 */
static bool kinst_walk_through(struct kinst_walk *w, unsigned long start)
{
	struct kinst_func *f = kinst_func_get(start);
	struct kinst_arch_insn insn;
	bool ok = f, begins;
	u32 i;

	begins = f && kinst_is_listed(kinst_arch_until_handlers, f->name);
	for (i = 0; ok && !f->reason && !kinst_walk_ends_at(w, f->name) && i < f->ninsns; i++) {
		kinst_func_decode(f, &f->insns[i], &insn);
		if (insn.target && !kinst_func_has(f, insn.target))
			ok = kinst_walk_to(w, insn.target);
		if (begins && kinst_sets_handlers(&insn))
			break;
	}
	kinst_func_put(f);
	return ok;
}

static bool kinst_walk(struct kinst_walk *w, const char *const *root)
{
	unsigned int i;

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

int kinst_trap_path_init(void)
{
	bool whole;

	mutex_lock(&kinst_sites_mutex);
	kinst_patch_lock();
	whole = kinst_walk(&kinst_trap_path, kinst_arch_walk_roots) && kinst_walk(&kinst_no_trap, kinst_arch_no_trap);
	kinst_patch_unlock();
	mutex_unlock(&kinst_sites_mutex);
	if (whole)
		return 0;
	pr_err("kinst: on this kernel more runs where a breakpoint does not find its handler than can be kept free of breakpoints\n");
	return -EOPNOTSUPP;
}

bool kinst_is_trap_path(const struct kinst_func *f)
{
	return kinst_has_walked(&kinst_trap_path, f->start) || kinst_is_listed(kinst_arch_trap_path, f->name) ||
	       kinst_arch_is_thunk_name(f->name);
}

bool kinst_has_no_trap(const struct kinst_func *f)
{
	return kinst_has_walked(&kinst_no_trap, f->start) || kinst_is_listed(kinst_arch_no_trap, f->name);
}
