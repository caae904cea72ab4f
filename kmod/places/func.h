/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/func.h: a function in memory, decoded from its start.
 */
#ifndef _KINST_FUNC_H
#define _KINST_FUNC_H

#include "arch/arch.h"

struct module;

struct kinst_func_insn {
	u32 offset;
	u8 len;
	u8 flags; /* KINST_INSN_* */
	u16 reason; /* why it cannot have a breakpoint, or KINST_OK */
};

struct kinst_func {
	unsigned long start;
	unsigned long size; /* up to the padding after it, once it is decoded */
	unsigned long room; /* size including the padding */
	unsigned long site; /* address of its ftrace site, or 0 */
	struct module *mod; /* NULL: the kernel itself */
	bool held; /* holds a reference to the module */
	enum kinst_reason reason; /* why the instructions are unknown; then insns is empty */
	enum kinst_reason blanket; /* why no instruction may have a breakpoint */
	bool whole; /* decoded to its end */
	bool exclusive; /* has an exclusive load */
	s8 led; /* places/refs.c: 1: all targets of its jumps are known; -1: some are unknown; 0: not checked yet */
	s8 led_before, led_behind; /* the same for its neighbours */
	s8 plain; /* text/jump.c: 1: jumps may cover several instructions; -1: they may not; 0: not checked yet */
	u32 ninsns;
	struct kinst_func_insn *insns;
	u8 *text; /* room bytes: the original text, below all breakpoints and jumps of probes */
	char name[128]; /* without the module; empty if unknown */
};

/* For sort() and bsearch() over addresses. */
int kinst_compare_addrs(const void *a, const void *b);
void kinst_func_put(struct kinst_func *f);

/*
 * The instruction at the offset, or NULL and the reason; for BOUNDARY, also the
 * neighbours in res (which may be NULL).
 */
const struct kinst_func_insn *kinst_func_at(const struct kinst_func *f, u32 offset, enum kinst_reason *reason,
					    struct kinst_result *res);

/* Decodes the instruction at the offset. False if it is not one. */
bool kinst_func_decode_at(const struct kinst_func *f, u32 off, struct kinst_arch_insn *insn);

/* Decodes one of the function's instructions again. */
void kinst_func_decode(const struct kinst_func *f, const struct kinst_func_insn *at, struct kinst_arch_insn *insn);

/* Gives a reason to each instruction that overlaps [addr, addr + len) and has none yet. */
void kinst_func_mark(struct kinst_func *f, unsigned long addr, unsigned long len, enum kinst_reason reason);

/*
 * Whether ftrace serves probes of the function's entry. It does so safely even for a function on the kprobes
 * blacklist.
 */
static inline bool kinst_func_has_fentry(const struct kinst_func *f)
{
	return KINST_FTRACE_SERVES && f->site && (!f->blanket || f->blanket == KINST_R_BLACKLIST);
}

/* Whether hits at the instruction come through ftrace: it is the ftrace site, or the landing pad before it. */
static inline bool kinst_func_is_fentry(const struct kinst_func *f, const struct kinst_func_insn *at)
{
	unsigned long addr = f->start + at->offset;

	return KINST_FTRACE_SERVES && f->site && !f->blanket && (addr == f->site || (!at->offset && addr + at->len == f->site));
}

/* Whether the caller's address is in the link register at the function's instruction. */
bool kinst_func_is_linked(const struct kinst_func *f, unsigned long addr);

static inline bool kinst_func_has(const struct kinst_func *f, unsigned long addr)
{
	return addr - f->start < f->size;
}

#endif /* _KINST_FUNC_H */
