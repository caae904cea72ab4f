// SPDX-License-Identifier: GPL-2.0
/*
 * tramp.c: the pools of slots and of detours (pool.S) and what is written into
 * them.
 *
 * The ordinary pool: a slot is used again once no task can be in it (probe.c
 * waits for that). The fault pool: for instructions with an exception-table
 * entry. Such a one can sleep in its page fault for as long as it likes with its
 * address saved on the task's stack, so a slot stays with its instruction, for as
 * long as that exists; arming that again finds it.
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/extable.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/stop_machine.h>
#include <linux/string.h>

#include "kinst.h"
#include "ksym.h"
#include "patch.h"
#include "pool.h"
#include "tramp.h"

extern u8 kinst_pool[]; /* pool.S */
extern u8 kinst_fault_pool[];

void kinst_jump_entry(void); /* arch/ */

static_assert(KINST_SLOT_SIZE == KINST_POOL_SLOT_SIZE);
static_assert(KINST_DETOUR_LEN == KINST_DETOUR_SIZE);

/* A pool whose slots are used again. */
struct kinst_slots {
	u8 *at;
	size_t size; /* of a slot */
	unsigned int count;
	unsigned long *used;
	unsigned int next; /* where to look for a free one first */
};

static DECLARE_BITMAP(kinst_used, KINST_POOL_SLOTS);
static struct kinst_slots kinst_pool_slots = {
	.at = kinst_pool,
	.size = KINST_SLOT_SIZE,
	.count = KINST_POOL_SLOTS,
	.used = kinst_used,
};

static DECLARE_BITMAP(kinst_detoured, KINST_DETOURS);
static struct kinst_slots kinst_detour_slots = {
	.at = kinst_detours,
	.size = KINST_DETOUR_SIZE,
	.count = KINST_DETOURS,
	.used = kinst_detoured,
};

static unsigned long kinst_fault_owner[KINST_FAULT_SLOTS]; /* address of the instruction, or 0 */
static unsigned int kinst_fault_end; /* no slot from here on ever had an owner */

#define KINST_OWNER_LOST 1 /* its instruction has changed; nobody gets the slot again */

/* What of the pools is taken: /sys/module/kinst/parameters, to be read. */
static int kinst_show_slots(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u\n", bitmap_weight(kinst_used, KINST_POOL_SLOTS));
}

static int kinst_show_fault_slots(char *buffer, const struct kernel_param *kp)
{
	unsigned int i, owned = 0;

	for (i = 0; i < READ_ONCE(kinst_fault_end); i++)
		owned += !!READ_ONCE(kinst_fault_owner[i]);
	return sysfs_emit(buffer, "%u\n", owned);
}

static const struct kernel_param_ops kinst_slots_ops = { .set = kinst_refuse_to_set, .get = kinst_show_slots };
module_param_cb(slots, &kinst_slots_ops, NULL, 0444);
MODULE_PARM_DESC(slots, "trampolines in use (to be read)");

static const struct kernel_param_ops kinst_fault_slots_ops = {
	.set = kinst_refuse_to_set,
	.get = kinst_show_fault_slots,
};
module_param_cb(fault_slots, &kinst_fault_slots_ops, NULL, 0444);
MODULE_PARM_DESC(fault_slots, "trampolines of instructions that may fault, which stay taken until their module goes (to be read)");

static bool kinst_slot_is_fault(unsigned long slot)
{
	return slot - (unsigned long)kinst_fault_pool < KINST_FAULT_SLOTS * KINST_SLOT_SIZE;
}

/* The slot's own exception-table entry does what the original's does. */
static void kinst_fault_entry(unsigned long slot, const struct kinst_arch_insn *insn,
			      const struct exception_table_entry *original)
{
	struct exception_table_entry *entry = (void *)kinst_sym_search_exception_tables(slot);
	unsigned long fixup = (unsigned long)&original->fixup + original->fixup;
	int word[2];

	/*
	 * A fixup to the next instruction stays inside the slot: one handler
	 * (ZEROPAD) takes the distance to the fixup for the instruction's length.
	 */
	if (fixup == insn->addr + insn->len)
		fixup = slot + insn->len;
	word[0] = (int)(fixup - (unsigned long)&entry->fixup);
	word[1] = original->data;
	BUILD_BUG_ON(offsetof(struct exception_table_entry, data) !=
		     offsetof(struct exception_table_entry, fixup) + sizeof(int));
	kinst_patch_write((unsigned long)&entry->fixup, word, sizeof(word));
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

/* A module is through with all that it ever ran: nobody sleeps in a fault of its. Context: the sites' mutex. */
void kinst_tramp_forget(const struct module *mod)
{
	unsigned int i;

	for (i = 0; i < kinst_fault_end; i++)
		if (within_module(kinst_fault_owner[i], mod))
			kinst_fault_owner[i] = 0;
}

/* The address of a free one, from the place on where the last search ended; or 0. */
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

static void kinst_slots_take(struct kinst_slots *slots, unsigned long slot, const u8 *bytes)
{
	unsigned int i = kinst_slots_number(slots, slot);

	__set_bit(i, slots->used);
	slots->next = i + 1;
	kinst_patch_write(slot, bytes, slots->size);
}

static void kinst_slots_give(struct kinst_slots *slots, unsigned long slot)
{
	u8 bytes[KINST_DETOUR_SIZE];

	memset(bytes, KINST_BREAK, sizeof(bytes));
	kinst_patch_write(slot, bytes, slots->size);
	__clear_bit(kinst_slots_number(slots, slot), slots->used);
}

enum kinst_reason kinst_slot_get(const struct kinst_arch_insn *insn, unsigned long *slot)
{
	const struct exception_table_entry *original = kinst_sym_search_exception_tables(insn->addr);
	u8 bytes[KINST_SLOT_SIZE];
	enum kinst_reason reason;

	/* A direct jump or call does not fault: the entry is for an alternative of it, as "rep stosb" in clear_user(). */
	if (original && !insn->target)
		return kinst_fault_slot_get(insn, original, slot);
	*slot = kinst_slots_find(&kinst_pool_slots);
	if (!*slot)
		return KINST_R_NOSLOT;
	reason = kinst_arch_relocate(insn, *slot, bytes);
	if (!reason)
		kinst_slots_take(&kinst_pool_slots, *slot, bytes);
	return reason;
}

void kinst_slot_put(unsigned long slot)
{
	if (slot && !kinst_slot_is_fault(slot))
		kinst_slots_give(&kinst_pool_slots, slot);
}

unsigned int kinst_slots_left(void)
{
	return KINST_POOL_SLOTS - bitmap_weight(kinst_used, KINST_POOL_SLOTS);
}

enum kinst_reason kinst_detour_get(const struct kinst_arch_insn *insns, unsigned int n, unsigned long *detour)
{
	u8 bytes[KINST_DETOUR_SIZE];
	enum kinst_reason reason;

	*detour = kinst_slots_find(&kinst_detour_slots);
	if (!*detour)
		return KINST_R_NOSLOT;
	reason = kinst_arch_detour(insns, n, *detour, (unsigned long)kinst_jump_entry, bytes);
	if (!reason)
		kinst_slots_take(&kinst_detour_slots, *detour, bytes);
	return reason;
}

void kinst_detour_put(unsigned long detour)
{
	kinst_slots_give(&kinst_detour_slots, detour);
}

/* Is an address inside the fault pool saved on the task's stack? */
static bool kinst_task_in_fault_pool(struct task_struct *task)
{
	unsigned long *stack = task_stack_page(task);
	unsigned long *sp = (unsigned long *)task->thread.sp;
	unsigned long *end = (void *)stack + THREAD_SIZE;

	if (!stack || sp < stack || sp > end)
		return false;
	for (; sp < end; sp++)
		if (kinst_slot_is_fault(*sp))
			return true;
	return false;
}

/* Context: all CPUs are stopped, so that every task's stack pointer is saved. */
static int kinst_scan_tasks(void *found)
{
	struct task_struct *group, *task;

	for_each_process_thread(group, task) {
		if (kinst_task_in_fault_pool(task))
			*(bool *)found = true;
	}
	return 0;
}

/* Waits until no task sleeps in the page fault of an instruction that was probed: it would wake in freed memory. */
void kinst_tramp_exit(void)
{
	bool found = false;
	bool told = false;

	while (kinst_fault_end) {
		found = false;
		stop_machine(kinst_scan_tasks, &found, NULL);
		if (!found)
			break;
		if (!told)
			pr_info("kinst: unloading waits for a task that sleeps in a page fault of a probed instruction\n");
		told = true;
		msleep(100);
	}
}
