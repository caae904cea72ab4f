// SPDX-License-Identifier: GPL-2.0
/*
 * places/refs.c: finds places where a jump may not cover several instructions, because
 * something leads into the middle of them.
 *
 * Symbols do not show this: the cold part of a function jumps back into its middle,
 * one assembler function jumps into another, and an address may have been taken. So a
 * bitmap has a bit for each byte of the text, set by anything that looks like a
 * reference to it: any bytes that are a distance to it or its address (a chance
 * match costs only an optimisation), the tables of jump labels and exceptions, and
 * the short jumps of the function and of every function near enough, which are
 * decoded for this.
 */
#include <linux/bitops.h>
#include <linux/extable.h>
#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "arch/ksym.h"
#include "compat/module_text.h"
#include "places/read.h"
#include "places/refs.h"

struct kinst_refs {
	unsigned long start, size;
	unsigned long *bits; /* NULL: unknown */
};

static struct kinst_refs kinst_kernel_refs;
static bool kinst_refs_read; /* the text has been read, or reading failed and is not tried again */
static struct kinst_refs kinst_module_refs; /* of the module that was looked up last */

static void kinst_refs_set(struct kinst_refs *refs, unsigned long to)
{
	if (to - refs->start < refs->size)
		__set_bit(to - refs->start, refs->bits);
}

static void kinst_refs_scan(struct kinst_refs *refs)
{
	const u8 *text = (const u8 *)refs->start;
	unsigned long i, to[KINST_REFERENCES];
	unsigned int k;

	for (i = 0; i + KINST_REFERENCE_LEN <= refs->size; i++) {
		kinst_arch_references(text + i, refs->start + i, to);
		for (k = 0; k < KINST_REFERENCES; k++)
			kinst_refs_set(refs, to[k]);
		if (!(i & 0xffff))
			cond_resched();
	}
}

static void kinst_refs_labels(struct kinst_refs *refs, struct jump_entry *entry, const struct jump_entry *end)
{
	for (; entry < end; entry++)
		kinst_refs_set(refs, jump_entry_target(entry));
}

static void kinst_refs_fixups(struct kinst_refs *refs, const struct exception_table_entry *entry,
			      const struct exception_table_entry *end)
{
	for (; entry < end; entry++)
		kinst_refs_set(refs, (unsigned long)&entry->fixup + entry->fixup);
}

static bool kinst_refs_alloc(struct kinst_refs *refs)
{
	refs->bits = kvcalloc(BITS_TO_LONGS(refs->size), sizeof(long), GFP_KERNEL);
	return refs->bits;
}

void kinst_refs_build(void)
{
	struct kinst_refs *refs = &kinst_kernel_refs;

	if (kinst_refs_read)
		return;
	kinst_refs_read = true;
	refs->start = kinst_addr_stext;
	refs->size = kinst_addr_etext - kinst_addr_stext;
	if (!kinst_addr_start_ex_table || !kinst_addr_stop_ex_table || !kinst_refs_alloc(refs))
		return;
	kinst_refs_scan(refs);
	kinst_refs_labels(refs, (void *)kinst_addr_start_jump_table, (void *)kinst_addr_stop_jump_table);
	kinst_refs_fixups(refs, (void *)kinst_addr_start_ex_table, (void *)kinst_addr_stop_ex_table);
}

static struct kinst_refs *kinst_refs_of_module(struct module *mod)
{
	struct kinst_refs *refs = &kinst_module_refs;
	unsigned long start, size;

	kinst_module_text(mod, &start, &size);
	if (refs->bits && refs->start == start)
		return refs;
	kvfree(refs->bits);
	refs->start = start;
	refs->size = size;
	if (!kinst_refs_alloc(refs))
		return refs;
	kinst_refs_scan(refs);
#ifdef CONFIG_JUMP_LABEL
	kinst_refs_labels(refs, mod->jump_entries, mod->jump_entries + mod->num_jump_entries);
#endif
	kinst_refs_fixups(refs, mod->extable, mod->extable + mod->num_exentries);
	return refs;
}

/* Sets the targets of the function's branches. False if they cannot all be determined. */
static bool kinst_refs_function(struct kinst_refs *refs, const struct kinst_func *f)
{
	struct kinst_arch_insn insn;
	u32 i;

	if (f->reason || !f->whole)
		return false;
	for (i = 0; i < f->ninsns; i++) {
		kinst_func_decode(f, &f->insns[i], &insn);
		if (insn.flow == KINST_FLOW_JUMP || insn.flow == KINST_FLOW_BRANCH)
			kinst_refs_set(refs, insn.target);
	}
	return true;
}

/* Does this for another function, at addr; anything that is not a function leads nowhere. Sets *next to its end. */
static bool kinst_refs_neighbour(struct kinst_refs *refs, unsigned long addr, unsigned long *next)
{
	unsigned long size, offset;
	struct kinst_func *f;
	bool known;

	*next = addr + 1;
	if (addr - refs->start >= refs->size || !kinst_symbol_range(addr, &size, &offset))
		return true;
	*next = addr - offset + size;
	f = kinst_func_get_of_site(addr - offset);
	if (!f)
		return false;
	/* INIT: it was freed after boot, so it leads nowhere, and its text must not be read. */
	known = f->reason == KINST_R_INIT || kinst_refs_function(refs, f);
	kinst_func_put(f);
	return known;
}

/* Does this for all functions in [from, to), some only a few bytes long (assembler): 1, or -1 if one is unknown. */
static s8 kinst_refs_neighbours(struct kinst_refs *refs, unsigned long from, unsigned long to)
{
	while (from < to)
		if (!kinst_refs_neighbour(refs, from, &from))
			return -1;
	return 1;
}

bool kinst_refs_any(struct kinst_func *f, unsigned long from, unsigned long to)
{
	struct kinst_refs *refs = f->mod ? kinst_refs_of_module(f->mod) : &kinst_kernel_refs;
	unsigned long end = f->start + f->room;
	bool before = from - f->start < KINST_SHORT;
	bool behind = end - to < KINST_SHORT;

	if (!refs->bits || from < refs->start || to > refs->start + refs->size)
		return true;
	if (!f->led)
		f->led = kinst_refs_function(refs, f) ? 1 : -1;
	if (before && !f->led_before)
		f->led_before = kinst_refs_neighbours(refs, f->start - KINST_SHORT, f->start);
	if (behind && !f->led_behind)
		f->led_behind = kinst_refs_neighbours(refs, end, end + KINST_SHORT);
	if (f->led < 0 || (before && f->led_before < 0) || (behind && f->led_behind < 0))
		return true;
	return find_next_bit(refs->bits, to - refs->start, from - refs->start) < to - refs->start;
}

void kinst_refs_forget(void)
{
	kvfree(kinst_module_refs.bits);
	kinst_module_refs.bits = NULL;
}

void kinst_refs_exit(void)
{
	kinst_refs_forget();
	kvfree(kinst_kernel_refs.bits);
}
