// SPDX-License-Identifier: GPL-2.0
/*
 * places/refuse.c: the places that cannot be probed, each with its reason.
 *
 * There are two kinds: text that other code rewrites at run time, where each side
 * would undo the other's changes (jump labels, static calls, ftrace, kprobes), and
 * code that runs between the trap and our handler, where a probe would never reach
 * the handler. Tables are searched once per function, not once per instruction,
 * since some searches are linear.
 */
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sort.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "arch/ksym.h"
#include "places/exclusive.h"
#include "places/func.h"
#include "places/host.h"
#include "places/refuse.h"
#include "places/trappath.h"

/* The addresses in the kernel's own text that a table lists, sorted. */
struct kinst_places {
	unsigned long *addr;
	unsigned int count;
};

static struct kinst_places kinst_jumps; /* jump labels */
static struct kinst_places kinst_calls; /* static calls */

enum kinst_reason kinst_refuse_module(struct module *mod, unsigned long addr)
{
	if (mod == THIS_MODULE)
		return KINST_R_SELF;
	if (mod->state == MODULE_STATE_GOING)
		return KINST_R_GONE;
	if (mod->state != MODULE_STATE_LIVE || within_module_init(addr, mod))
		return KINST_R_INIT;
	return KINST_OK;
}

/* ---- tables of the kernel itself: fixed after boot, sorted once ---- */

static int kinst_places_init(struct kinst_places *p, unsigned long count)
{
	p->addr = vmalloc(max(count, 1UL) * sizeof(*p->addr));
	return p->addr ? 0 : -ENOMEM;
}

static void kinst_places_sort(struct kinst_places *p)
{
	sort(p->addr, p->count, sizeof(*p->addr), kinst_compare_addrs, NULL);
}

static int kinst_jumps_init(void)
{
	struct jump_entry *entry = (void *)kinst_addr_start_jump_table;
	struct jump_entry *end = (void *)kinst_addr_stop_jump_table;
	int err = kinst_places_init(&kinst_jumps, end - entry);

	if (err)
		return err;
	for (; entry < end; entry++)
		kinst_jumps.addr[kinst_jumps.count++] = jump_entry_code(entry);
	kinst_places_sort(&kinst_jumps);
	return 0;
}

static unsigned long kinst_static_call_addr(const struct static_call_site *site)
{
	return (unsigned long)&site->addr + (long)site->addr;
}

static int kinst_calls_init(void)
{
	struct static_call_site *site = (void *)kinst_addr_start_static_call_sites;
	struct static_call_site *end = (void *)kinst_addr_stop_static_call_sites;
	int err = kinst_places_init(&kinst_calls, end - site);

	if (err)
		return err;
	for (; site < end; site++)
		kinst_calls.addr[kinst_calls.count++] = kinst_static_call_addr(site);
	kinst_places_sort(&kinst_calls);
	return 0;
}

/* Marks the table's places that are in the function, each len bytes long. */
static void kinst_mark_places(struct kinst_func *f, const struct kinst_places *p, unsigned long len,
			      enum kinst_reason reason)
{
	unsigned int lo = 0, hi = p->count;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (p->addr[mid] < f->start)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < p->count && kinst_func_has(f, p->addr[lo]); lo++)
		kinst_func_mark(f, p->addr[lo], len, reason);
}

/* A jump label is one whole instruction, two or five bytes long: its first byte is enough. */
static void kinst_mark_jump_labels(struct kinst_func *f)
{
	if (f->mod) {
#ifdef CONFIG_JUMP_LABEL
		unsigned int i;

		for (i = 0; i < f->mod->num_jump_entries; i++)
			if (kinst_func_has(f, jump_entry_code(&f->mod->jump_entries[i])))
				kinst_func_mark(f, jump_entry_code(&f->mod->jump_entries[i]), 1,
						KINST_R_JUMP_LABEL);
#endif
		return;
	}
	kinst_mark_places(f, &kinst_jumps, 1, KINST_R_JUMP_LABEL);
}

static void kinst_mark_static_calls(struct kinst_func *f)
{
	if (f->mod) {
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
		int i;

		for (i = 0; i < f->mod->num_static_call_sites; i++) {
			unsigned long addr = kinst_static_call_addr(&f->mod->static_call_sites[i]);

			if (kinst_func_has(f, addr))
				kinst_func_mark(f, addr, KINST_STATIC_CALL_LEN, KINST_R_STATIC_CALL);
		}
#endif
		return;
	}
	kinst_mark_places(f, &kinst_calls, KINST_STATIC_CALL_LEN, KINST_R_STATIC_CALL);
}

/* Most machines have no such places now, so check the whole function first. */
static void kinst_mark_alternatives(struct kinst_func *f)
{
	u32 i;

	if (!kinst_arch_is_rewritten(f->start, f->start + f->size - 1))
		return;
	for (i = 0; i < f->ninsns; i++) {
		unsigned long at = f->start + f->insns[i].offset;

		if (kinst_arch_is_rewritten(at, at + f->insns[i].len - 1))
			kinst_func_mark(f, at, 1, KINST_R_ALTERNATIVE);
	}
}

/* A kprobe that is optimised, now or later, overwrites several bytes from its address on. */
static void kinst_mark_kprobes(struct kinst_func *f)
{
	u32 i;

	for (i = 0; i < f->ninsns; i++) {
		unsigned long at = f->start + f->insns[i].offset;

		if (at != f->site && kinst_sym_get_kprobe((void *)at))
			kinst_func_mark(f, at, KINST_OPT_LEN, KINST_R_KPROBE);
	}
}

/* The first ftrace site in [from, to], or 0. The kernel's function returns an arbitrary one of them. */
static unsigned long kinst_first_ftrace(unsigned long from, unsigned long to)
{
	unsigned long at, first = 0;

	while (from <= to && (at = kinst_sym_ftrace_location_range(from, to))) {
		first = at;
		to = at - 1;
	}
	return first;
}

/*
 * Only a site at the very beginning belongs to the function. Code that follows without a symbol can have one, too:
 * a weak function that another file has overridden does.
 */
static void kinst_mark_ftrace(struct kinst_func *f)
{
	unsigned long end = f->start + f->room - 1, at;

	/* The kernel also returns a site if the range begins in the middle of it. */
	for (at = f->start; (at = kinst_first_ftrace(at, end)); at += KINST_FTRACE_LEN)
		kinst_func_mark(f, at, KINST_FTRACE_LEN, KINST_R_FTRACE);
}

static unsigned long kinst_own_ftrace(const struct kinst_func *f)
{
	unsigned long at = kinst_first_ftrace(f->start, f->start + f->room - 1);

	return at == f->start || (f->ninsns && at == f->start + f->insns[0].len) ? at : 0; /* after a landing pad */
}

/* ---- functions as a whole ---- */

static bool kinst_is_static_call_trampoline(const struct kinst_func *f)
{
	return (f->start >= kinst_addr_static_call_text_start && f->start < kinst_addr_static_call_text_end) ||
	       strstarts(f->name, "__SCT__") || strstarts(f->name, "__SCK__");
}

static enum kinst_reason kinst_refuse_whole(const struct kinst_func *f)
{
	if (kinst_is_trap_path(f) || kinst_arch_is_before_us(f->start))
		return KINST_R_TRAP_PATH;
	if (kinst_has_no_trap(f))
		return KINST_R_NO_TRAP;
	if (kinst_is_kept_out(f))
		return KINST_R_BLACKLIST;
	if (kinst_is_static_call_trampoline(f))
		return KINST_R_STATIC_CALL;
	/* The BPF dispatchers are rewritten by BPF at any time. */
	if (strstarts(f->name, "bpf_dispatcher_"))
		return KINST_R_FOREIGN;
	return KINST_OK;
}

void kinst_refuse_function(struct kinst_func *f)
{
	u32 i;

	f->site = kinst_own_ftrace(f);
	f->blanket = kinst_refuse_whole(f);
	if (f->blanket) {
		for (i = 0; i < f->ninsns; i++)
			f->insns[i].reason = f->blanket;
		return;
	}
	kinst_mark_ftrace(f);
	kinst_mark_jump_labels(f);
	kinst_mark_static_calls(f);
	kinst_mark_alternatives(f);
	kinst_mark_kprobes(f);
	kinst_mark_exclusive(f);
}

void kinst_refuse_entry(struct kinst_func *f)
{
	unsigned long size = min_t(unsigned long, f->size, KINST_INSN_MOST + 1);
	unsigned long at = kinst_first_ftrace(f->start, f->start + size - 1);
	struct kinst_arch_insn pad;

	if (at == f->start || (at && kinst_arch_decode(&pad, (u8 *)f->start, size, f->start) &&
			       pad.reason == KINST_R_INSN_LANDING_PAD && at == f->start + pad.len))
		f->site = at;
	f->blanket = kinst_refuse_whole(f);
}

/* The site of the function that follows is among its first instructions, maybe after a landing pad. */
unsigned long kinst_refuse_data(unsigned long start, unsigned long size)
{
	unsigned long end = start + size;

	if (!KINST_FTRACE_BEFORE || size <= KINST_FTRACE_BEFORE || !kinst_first_ftrace(end, end + 2 * KINST_FTRACE_LEN))
		return size;
	return size - KINST_FTRACE_BEFORE;
}

int kinst_refuse_init(void)
{
	int err = kinst_jumps_init();

	if (err)
		return err;
	err = kinst_calls_init();
	if (err)
		goto jumps;
	return 0;

jumps:
	vfree(kinst_jumps.addr);
	return err;
}

void kinst_refuse_exit(void)
{
	vfree(kinst_calls.addr);
	vfree(kinst_jumps.addr);
}
