// SPDX-License-Identifier: GPL-2.0
/*
 * patch/tramp.c: the pools of slots and of detours (arch/pool.h) and their
 * contents.
 *
 * The ordinary pool: a slot is reused once no task can be in it (text/sites.c waits
 * for that). The fault pool: for instructions with an exception-table entry. A task
 * can sleep in the page fault of such an instruction for any time, with the address
 * saved on its stack, so a slot stays with its instruction, and the module stays
 * loaded, until no task has such an address.
 */
#include <linux/bitmap.h>
#include <linux/extable.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "arch/ksym.h"
#include "compat/config.h"
#include "context.h"
#include "params.h"
#include "patch/patch.h"
#include "patch/tramp.h"

/* A pool whose slots are reused. */
struct kinst_slots {
	u8 *at;
	size_t size; /* of a slot */
	unsigned int count;
	unsigned long *used;
	unsigned int next; /* where the search for a free one begins */
	/* The contents of each; NULL for detours. */
	unsigned long *owner; /* address of the instruction */
	u8 *len; /* its length; 0: a call */
};

static DECLARE_BITMAP(kinst_used, KINST_POOL_SLOTS);
static unsigned long kinst_owner[KINST_POOL_SLOTS];
static u8 kinst_owner_len[KINST_POOL_SLOTS];
static DECLARE_BITMAP(kinst_detoured, KINST_DETOURS);

/* The first is in the module's text, the others are near the kernel. */
static struct kinst_slots kinst_pools[1 + KINST_NEAR_POOLS] = { {
	.at = kinst_pool,
	.size = KINST_SLOT_SIZE,
	.count = KINST_POOL_SLOTS,
	.used = kinst_used,
	.owner = kinst_owner,
	.len = kinst_owner_len,
} };
static unsigned int kinst_npools = 1;

static struct kinst_slots kinst_detour_pools[KINST_DETOUR_POOLS] = { {
	.at = kinst_detours,
	.size = KINST_DETOUR_LEN,
	.count = KINST_DETOURS,
	.used = kinst_detoured,
} };

u8 *kinst_near_detours;

static unsigned long kinst_fault_owner[KINST_FAULT_SLOTS]; /* address of the instruction, or 0 */
static unsigned int kinst_fault_end; /* no slot from here on has an owner */
static unsigned int kinst_fault_sites; /* sites with a slot of the fault pool; under the mutex, like all of these */
static bool kinst_fault_pinned; /* the module stays: a task may sleep in the pool */

#define KINST_OWNER_LOST 1 /* its instruction has changed; the slot is not reused */

/* Pool usage: read-only files in /sys/module/kinst/parameters. */
static int kinst_show_slots(char *buffer, const struct kernel_param *kp)
{
	unsigned int i, used = 0, n = smp_load_acquire(&kinst_npools);

	for (i = 0; i < n; i++)
		used += bitmap_weight(kinst_pools[i].used, KINST_POOL_SLOTS);
	return sysfs_emit(buffer, "%u\n", used);
}

static int kinst_show_fault_slots(char *buffer, const struct kernel_param *kp)
{
	unsigned int i, owned = 0;

	for (i = 0; i < READ_ONCE(kinst_fault_end); i++)
		owned += !!READ_ONCE(kinst_fault_owner[i]);
	return sysfs_emit(buffer, "%u\n", owned);
}

static const struct kernel_param_ops kinst_slots_ops = { .set = kinst_refuse_to_set, .get = kinst_show_slots };
module_param_cb(slots, &kinst_slots_ops, NULL, 0400);
MODULE_PARM_DESC(slots, "trampolines in use (read-only)");

static const struct kernel_param_ops kinst_fault_slots_ops = {
	.set = kinst_refuse_to_set,
	.get = kinst_show_fault_slots,
};
module_param_cb(fault_slots, &kinst_fault_slots_ops, NULL, 0400);
MODULE_PARM_DESC(fault_slots, "trampolines of faulting instructions, in use until no task can be in one (read-only)");

static bool kinst_slot_is_fault(unsigned long slot)
{
	return slot - (unsigned long)kinst_fault_pool < KINST_FAULT_SLOTS * KINST_SLOT_SIZE;
}

/* Makes the slot's exception-table entry do what the original one does. */
static void kinst_fault_entry(unsigned long slot, const struct kinst_arch_insn *insn,
			      const struct exception_table_entry *original)
{
	const struct exception_table_entry *entry = kinst_sym_search_exception_tables(slot);
	unsigned long fixup = (unsigned long)&original->fixup + original->fixup, at;
	int words[2];

	/*
	 * A fixup to the next instruction stays inside the slot: one handler
	 * (ZEROPAD) takes the distance to the fixup for the instruction's length.
	 */
	if (fixup == insn->addr + insn->len)
		fixup = slot + insn->len;
	at = kinst_arch_extable(entry, original, fixup, words);
	kinst_patch_write(at, words, sizeof(words));
}

static enum kinst_reason kinst_fault_slot_get(const struct kinst_arch_insn *insn,
					      const struct exception_table_entry *original, unsigned long *slot)
{
	u8 bytes[KINST_SLOT_SIZE];
	enum kinst_reason reason;
	unsigned int i, free = kinst_fault_end;

	/* Only an instruction that begins its slot has the slot's address when it faults. */
	if (insn->flow != KINST_FLOW_NEXT)
		return KINST_R_UNSUPPORTED;
	kinst_patch_flush();
	for (i = 0; i < kinst_fault_end; i++) {
		if (!kinst_fault_owner[i])
			free = i;
		if (kinst_fault_owner[i] != insn->addr)
			continue;
		*slot = (unsigned long)kinst_fault_pool + i * KINST_SLOT_SIZE;
		reason = kinst_arch_relocate(insn, *slot, bytes);
		if (reason)
			return reason;
		if (!memcmp(bytes, (void *)*slot, KINST_SLOT_SIZE)) {
			kinst_fault_entry(*slot, insn, original);
			return KINST_OK;
		}
		kinst_fault_owner[i] = KINST_OWNER_LOST;
	}
	if (free == KINST_FAULT_SLOTS)
		return KINST_R_NOSLOT;
	*slot = (unsigned long)kinst_fault_pool + free * KINST_SLOT_SIZE;
	reason = kinst_arch_relocate(insn, *slot, bytes);
	if (reason)
		return reason;
	kinst_fault_owner[free] = insn->addr;
	kinst_fault_end = max(kinst_fault_end, free + 1);
	kinst_fault_entry(*slot, insn, original);
	kinst_patch_write(*slot, bytes, sizeof(bytes));
	return KINST_OK;
}

/* The module's code no longer runs, so no task sleeps in one of its faults. Context: the sites' mutex. */
void kinst_tramp_forget(const struct module *mod)
{
	unsigned int i;

	for (i = 0; i < kinst_fault_end; i++)
		if (within_module(kinst_fault_owner[i], mod))
			kinst_fault_owner[i] = 0;
}

/* The address of a free slot, searched for after the one taken last; or 0. */
static unsigned long kinst_slots_find(const struct kinst_slots *slots)
{
	unsigned int i = find_next_zero_bit(slots->used, slots->count, slots->next);

	if (i >= slots->count)
		i = find_first_zero_bit(slots->used, slots->count);
	return i < slots->count ? (unsigned long)slots->at + i * slots->size : 0;
}

static unsigned int kinst_slots_number(const struct kinst_slots *slots, unsigned long slot)
{
	return (slot - (unsigned long)slots->at) / slots->size;
}

static bool kinst_slots_has(const struct kinst_slots *slots, unsigned long addr)
{
	return slots->at && addr - (unsigned long)slots->at < slots->count * slots->size;
}

static void kinst_slots_take(struct kinst_slots *slots, unsigned long slot, const u8 *bytes)
{
	unsigned int i = kinst_slots_number(slots, slot);

	__set_bit(i, slots->used);
	slots->next = i + 1;
	kinst_patch_write(slot, bytes, slots->size);
}

static void kinst_slots_give(struct kinst_slots *slots, unsigned long slot)
{
	u8 bytes[KINST_DETOUR_LEN];

	kinst_arch_fill(bytes, sizeof(bytes));
	kinst_patch_write(slot, bytes, slots->size);
	__clear_bit(kinst_slots_number(slots, slot), slots->used);
}

/* ---- pools near the kernel ---- */

static bool kinst_slots_alloc(struct kinst_slots *slots, size_t size, unsigned int count)
{
	slots->size = size;
	slots->count = count;
	slots->next = 0;
	slots->used = kvcalloc(BITS_TO_LONGS(count), sizeof(long), GFP_KERNEL);
	if (slots->used)
		slots->at = kinst_arch_near_new(count * size);
	return slots->at;
}

static void kinst_slots_free(struct kinst_slots *slots)
{
	kvfree(slots->used);
	kvfree(slots->owner);
	kvfree(slots->len);
	memset(slots, 0, sizeof(*slots));
}

/* Adds a pool of slots near the kernel. NULL: there is no memory. */
static struct kinst_slots *kinst_pools_grow(void)
{
	struct kinst_slots *slots = &kinst_pools[kinst_npools];

	if (kinst_npools == ARRAY_SIZE(kinst_pools))
		return NULL;
	slots->owner = kvcalloc(KINST_POOL_SLOTS, sizeof(*slots->owner), GFP_KERNEL);
	slots->len = kvcalloc(KINST_POOL_SLOTS, sizeof(*slots->len), GFP_KERNEL);
	if (slots->owner && slots->len && kinst_slots_alloc(slots, KINST_SLOT_SIZE, KINST_POOL_SLOTS)) {
		smp_store_release(&kinst_npools, kinst_npools + 1);
		return slots;
	}
	kinst_slots_free(slots);
	return NULL;
}

/* The pool of detours within reach of the place, or NULL. */
static struct kinst_slots *kinst_detours_for(unsigned long addr)
{
	struct kinst_slots *near = &kinst_detour_pools[KINST_DETOUR_POOLS - 1];

	if (!KINST_NEAR_POOLS || !kinst_is_own_text(addr))
		return &kinst_detour_pools[0];
	if (near->at)
		return near;
	if (!kinst_slots_alloc(near, KINST_DETOUR_LEN, KINST_DETOURS)) {
		kinst_slots_free(near);
		return NULL;
	}
	WRITE_ONCE(kinst_near_detours, near->at);
	return near;
}

/*
 * Finds a free slot for the instruction at addr: within reach if there is one, since a slot that is not costs a second
 * trap. The modules' text is near our own.
 */
static struct kinst_slots *kinst_slots_for(unsigned long addr, unsigned long *slot)
{
	struct kinst_slots *slots;

	if (KINST_NEAR_POOLS && kinst_is_own_text(addr)) {
		for (slots = kinst_pools + 1; slots < kinst_pools + kinst_npools; slots++) {
			*slot = kinst_slots_find(slots);
			if (*slot)
				return slots;
		}
		slots = kinst_pools_grow();
		if (slots) {
			*slot = kinst_slots_find(slots);
			return slots;
		}
	}
	*slot = kinst_slots_find(kinst_pools);
	return *slot ? kinst_pools : NULL;
}

static struct kinst_slots *kinst_slots_of(unsigned long slot)
{
	struct kinst_slots *slots = kinst_pools;

	while (!kinst_slots_has(slots, slot))
		slots++;
	return slots;
}

void kinst_tramp_exit(void)
{
	unsigned int i;

	for (i = 1; i < kinst_npools; i++)
		kinst_slots_free(&kinst_pools[i]);
	for (i = 1; i < KINST_DETOUR_POOLS; i++)
		kinst_slots_free(&kinst_detour_pools[i]);
	kinst_arch_near_free();
}

/* ---- slots and detours ---- */

static void kinst_fault_pin(void)
{
	kinst_fault_sites++;
	if (!kinst_fault_pinned)
		__module_get(THIS_MODULE);
	kinst_fault_pinned = true;
}

enum kinst_reason kinst_slot_get(const struct kinst_arch_insn *insn, unsigned long *slot)
{
	const struct exception_table_entry *original = kinst_sym_search_exception_tables(insn->addr);
	struct kinst_slots *slots;
	u8 bytes[KINST_SLOT_SIZE];
	enum kinst_reason reason;
	unsigned int number;

	/* Direct jumps and calls do not fault: the entry is for an alternative, as "rep stosb" in clear_user(). */
	if (original && !insn->target) {
		reason = kinst_fault_slot_get(insn, original, slot);
		if (!reason)
			kinst_fault_pin();
		return reason;
	}
	slots = kinst_slots_for(insn->addr, slot);
	if (!slots)
		return KINST_R_NOSLOT;
	reason = kinst_arch_relocate(insn, *slot, bytes);
	if (reason)
		return reason;
	number = kinst_slots_number(slots, *slot);
	slots->owner[number] = insn->addr;
	slots->len[number] = kinst_arch_calls(insn) ? 0 : insn->len;
	kinst_slots_take(slots, *slot, bytes);
	return KINST_OK;
}

/* Context: any, NMI included, with interrupts off. A slot's owner does not change while a task is in the slot. */
__probe_path unsigned long kinst_slot_place(unsigned long addr, bool *pushed)
{
	unsigned int pool, n = smp_load_acquire(&kinst_npools);
	unsigned long in, i;

	for (pool = 0; pool < n; pool++) {
		const struct kinst_slots *slots = &kinst_pools[pool];

		in = addr - (unsigned long)slots->at;
		i = in / KINST_SLOT_SIZE;
		if (i >= KINST_POOL_SLOTS)
			continue;
		if (!(in % KINST_SLOT_SIZE))
			return slots->owner[i];
		*pushed = !slots->len[i];
		return slots->owner[i] + slots->len[i];
	}
	in = addr - (unsigned long)kinst_fault_pool;
	i = in / KINST_SLOT_SIZE;
	if (i < KINST_FAULT_SLOTS)
		return kinst_fault_owner[i] + in % KINST_SLOT_SIZE;
	return 0;
}
NOKPROBE_SYMBOL(kinst_slot_place);

bool kinst_slot_put(unsigned long slot)
{
	if (!slot)
		return false;
	if (!kinst_slot_is_fault(slot)) {
		kinst_slots_give(kinst_slots_of(slot), slot);
		return false;
	}
	return !--kinst_fault_sites;
}

unsigned int kinst_slots_left(void)
{
	unsigned int i, left = (ARRAY_SIZE(kinst_pools) - kinst_npools) * KINST_POOL_SLOTS;

	for (i = 0; i < kinst_npools; i++)
		left += KINST_POOL_SLOTS - bitmap_weight(kinst_pools[i].used, KINST_POOL_SLOTS);
	return left;
}

enum kinst_reason kinst_detour_get(const struct kinst_arch_insn *insns, unsigned int n, unsigned long entry,
				   unsigned long *detour, u8 *at)
{
	struct kinst_slots *slots = kinst_detours_for(insns->addr);
	u8 bytes[KINST_DETOUR_LEN];
	enum kinst_reason reason;

	*detour = slots ? kinst_slots_find(slots) : 0;
	if (!*detour)
		return KINST_R_NOSLOT;
	reason = kinst_arch_detour(insns, n, *detour, entry, bytes, at);
	if (!reason)
		kinst_slots_take(slots, *detour, bytes);
	return reason;
}

void kinst_detour_put(unsigned long detour)
{
	kinst_slots_give(&kinst_detour_pools[kinst_detour_number(detour) / KINST_DETOURS], detour);
}

/* ---- tasks in the fault pool ---- */

/*
 * Whether an address inside the fault pool is on the task's stack. If a task sleeps in a page fault there, the address
 * is among the saved registers, which do not move until the fault ends: so the task may run meanwhile.
 * Remains of an older fault on the stack of a running task count, too: a later check will not see them.
 */
static bool kinst_task_in_fault_pool(struct task_struct *task)
{
	unsigned long stack = (unsigned long)READ_ONCE(task->stack), sp = kinst_arch_task_sp(task), at = stack;
	unsigned long words[64];
	size_t i, len;

	if (!stack || task == current)
		return false;
	if (!kinst_task_runs(task) && sp - stack < THREAD_SIZE)
		at = round_down(sp, sizeof(long));
	for (; at < stack + THREAD_SIZE; at += len) {
		len = min(sizeof(words), stack + THREAD_SIZE - at);
		if (copy_from_kernel_nofault(words, (void *)at, len))
			return false; /* the task's stack was freed */
		for (i = 0; i < len / sizeof(long); i++)
			if (kinst_slot_is_fault(words[i]))
				return true;
	}
	return false;
}

static bool kinst_is_anyone_in_fault_pool(void)
{
	struct task_struct *group, *task;
	bool found = false;

	rcu_read_lock();
	for_each_process_thread(group, task) {
		if (kinst_task_in_fault_pool(task)) {
			found = true;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

bool kinst_tramp_rest(void)
{
	if (!kinst_fault_pinned || kinst_fault_sites)
		return false;
	if (kinst_is_anyone_in_fault_pool())
		return true;
	memset(kinst_fault_owner, 0, kinst_fault_end * sizeof(*kinst_fault_owner));
	WRITE_ONCE(kinst_fault_end, 0);
	kinst_fault_pinned = false;
	module_put(THIS_MODULE);
	return false;
}
