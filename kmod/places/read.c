// SPDX-License-Identifier: GPL-2.0
/*
 * places/read.c: walks the instructions of a live function.
 *
 * The running text differs from the file: alternatives, static calls, return
 * thunks and ftrace have changed it. So instruction boundaries are found by decoding
 * memory from the symbol on. Breakpoints are replaced by the original instruction,
 * known from our records or, for kprobes, from its functions. Any other breakpoint
 * hides an instruction of unknown length, and the function is refused.
 */
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "arch/ksym.h"
#include "places/func.h"
#include "places/link.h"
#include "places/read.h"
#include "places/refuse.h"

#define KINST_FUNC_MAX (1 << 20) /* bytes; longer ones are not functions */

static size_t (*kinst_original)(unsigned long addr, const u8 **bytes) __ro_after_init;

void kinst_read_init(size_t (*original)(unsigned long addr, const u8 **bytes))
{
	kinst_original = original;
}

/* Whether a kprobe is at addr, or so close before it that its jump, if it is optimised, covers addr. */
static bool kinst_kprobe_near(unsigned long addr)
{
	int i;

	for (i = 0; i < KINST_OPT_LEN; i++)
		if (kinst_sym_get_kprobe((void *)(addr - i)))
			return true;
	return false;
}

/* Restores the original instruction at offset in f->text. False if it is unknown. */
static bool kinst_func_see_through(struct kinst_func *f, u32 off)
{
	unsigned long addr = f->start + off;
	struct kinst_arch_insn insn;
	u8 buf[KINST_INSN_MOST + 1] = {};
	const u8 *original;
	unsigned long at;
	size_t ours;

	if (kinst_arch_may_be_ours(f->text + off)) {
		ours = kinst_original(addr, &original);
		if (ours) {
			memcpy(f->text + off, original, ours);
			return true;
		}
	}
	if (!kinst_kprobe_near(addr))
		return true;
	at = kinst_arch_under_kprobe(buf, addr);
	if (at == addr)
		return true;
	if (!at || !kinst_arch_decode(&insn, buf, min_t(size_t, KINST_INSN_MOST, f->size - off), addr))
		return false;
	memcpy(f->text + off, buf, insn.len);
	return true;
}

/* Whether only breakpoints follow from off to the end: padding after a call that never returns. */
static bool kinst_func_padding(const struct kinst_func *f, u32 off)
{
	return kinst_arch_is_fill(f->text + off, f->size - off);
}

/* Whether the bytes up to the end were never written: the rest of a module's last page, counted to its last symbol. */
static bool kinst_func_blank(const struct kinst_func *f, u32 off)
{
	return f->mod && !memchr_inv(f->text + off, 0, f->size - off);
}

static u8 kinst_func_flags(const struct kinst_func *f, const struct kinst_arch_insn *insn)
{
	bool leaves = !kinst_func_has(f, insn->target) || insn->target == f->start;

	switch (insn->flow) {
	case KINST_FLOW_RET:
		return KINST_INSN_RET;
	case KINST_FLOW_JUMP:
		if (!leaves)
			return 0;
		return kinst_arch_is_return_thunk(insn->target) ? KINST_INSN_RET : KINST_INSN_TAIL;
	case KINST_FLOW_JUMP_INDIRECT:
		return KINST_INSN_TAIL;
	case KINST_FLOW_BRANCH:
		return KINST_INSN_BRANCH | (leaves ? KINST_INSN_TAIL : 0);
	}
	return 0;
}

/* Decodes up to the first invalid byte, and cuts off the padding before the next function, which kallsyms includes. */
static void kinst_func_walk(struct kinst_func *f)
{
	struct kinst_arch_insn insn;
	bool dead = true; /* nothing falls through to here */
	u32 live = 0, end = 0; /* instructions and bytes without padding */
	u32 off;

	for (off = 0; off < f->size; off += insn.len) {
		struct kinst_func_insn *out = &f->insns[f->ninsns];

		/* A megabyte of padding precedes an aligned section. */
		if (dead && off == end && off && kinst_func_padding(f, off))
			break;
		if (dead && off && kinst_func_blank(f, off))
			break;
		if (!kinst_func_see_through(f, off)) {
			f->reason = KINST_R_FOREIGN;
			return;
		}
		if (!kinst_func_decode_at(f, off, &insn))
			return;
		if (kinst_arch_is_break(f->text + off) && !dead && !kinst_func_padding(f, off)) {
			f->reason = KINST_R_FOREIGN;
			return;
		}
		out->offset = off;
		out->len = insn.len;
		out->flags = kinst_func_flags(f, &insn);
		out->reason = insn.reason;
		f->exclusive |= insn.exclusive == KINST_EXCLUSIVE_BEGINS;
		f->ninsns++;
		if (dead && off && (insn.nop || kinst_arch_is_break(f->text + off)))
			continue;
		live = f->ninsns;
		end = off + insn.len;
		dead = kinst_arch_ends(&insn);
	}
	f->whole = true;
	f->ninsns = live;
	f->size = end;
}

/* Finds the function's range and its module; on request, takes a reference to the module. */
static enum kinst_reason kinst_func_find(struct kinst_func *f, bool hold)
{
	unsigned long offset;

	if (f->start >= kinst_addr_sinittext && f->start < kinst_addr_einittext)
		return KINST_R_INIT;
	if (!kinst_is_own_text(f->start)) {
		struct module *mod;
		enum kinst_reason reason = KINST_R_NOFUNC;

		preempt_disable();
		mod = kinst_sym_module_text_address(f->start);
		if (mod)
			reason = kinst_refuse_module(mod, f->start);
		if (!reason && hold && !try_module_get(mod))
			reason = KINST_R_GONE;
		preempt_enable();
		if (reason)
			return reason;
		f->mod = mod;
		f->held = hold;
	}
	if (!kinst_symbol_range(f->start, &f->size, &offset) || offset || f->size > KINST_FUNC_MAX)
		return KINST_R_NOFUNC;
	return KINST_OK;
}

/* The function without its instructions. */
static struct kinst_func *kinst_func_new(unsigned long start, bool hold)
{
	struct kinst_func *f = kzalloc(sizeof(*f), GFP_KERNEL);
	char name[KSYM_SYMBOL_LEN];

	if (!f)
		return NULL;
	f->start = start;
	f->reason = kinst_func_find(f, hold);
	if (f->reason)
		return f;
	f->size = kinst_refuse_data(start, f->size);
	f->room = f->size;
	kinst_symbol_name(start, name);
	strscpy(f->name, name, sizeof(f->name));
	return f;
}

/* Adds the instructions. False if out of memory. */
static bool kinst_func_read(struct kinst_func *f)
{
	f->text = kvmalloc(f->size, GFP_KERNEL);
	f->insns = kvmalloc_array(f->size, sizeof(*f->insns), GFP_KERNEL);
	if (!f->text || !f->insns)
		return false;
	memcpy(f->text, (void *)f->start, f->size);
	kinst_func_walk(f);
	if (!f->reason) {
		if (KINST_LINK_REGISTER)
			kinst_mark_linked(f);
		kinst_refuse_function(f);
	}
	return true;
}

static struct kinst_func *kinst_func_make(unsigned long start, bool hold)
{
	struct kinst_func *f = kinst_func_new(start, hold);

	if (!f || f->reason || kinst_func_read(f))
		return f;
	kinst_func_put(f);
	return NULL;
}

struct kinst_func *kinst_func_get(unsigned long start)
{
	return kinst_func_make(start, true);
}

struct kinst_func *kinst_func_get_of_site(unsigned long start)
{
	return kinst_func_make(start, false);
}

struct kinst_func *kinst_func_get_entry(unsigned long start)
{
	struct kinst_func *f = kinst_func_new(start, true);

	if (f && !f->reason) {
		kinst_refuse_entry(f);
		if (kinst_func_has_fentry(f))
			return f;
	}
	kinst_func_put(f);
	return NULL;
}
