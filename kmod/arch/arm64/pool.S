/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/pool.S: the trampoline slots, in the module's text: read-only, named in backtraces, and with
 * exception-table entries that the kernel searches like any module's.
 *
 * Every slot of the fault pool has an entry, in the order of the slots, so that the table is already sorted.
 * patch/tramp.c writes its fixup and type when the slot is used.
 */
#include <linux/linkage.h>
#include <asm/asm-extable.h>
#include <machine/text.h>
#include "arch/pool.h"

	.section .text.kinst_pool, "ax", @progbits
	.balign	4096
	.globl	kinst_pool
	.type	kinst_pool, @object
kinst_pool:
	.fill	KINST_POOL_SLOTS * KINST_SLOT_SIZE / 4, 4, KINST_BREAK
	.size	kinst_pool, . - kinst_pool

	.globl	kinst_fault_pool
	.type	kinst_fault_pool, @object
kinst_fault_pool:
	.fill	KINST_FAULT_SLOTS * KINST_SLOT_SIZE / 4, 4, KINST_BREAK
	.size	kinst_fault_pool, . - kinst_fault_pool

	.globl	kinst_detours
	.balign	KINST_SLOT_SIZE
	.type	kinst_detours, @object
kinst_detours:
	.fill	KINST_DETOURS * KINST_DETOUR_LEN / 4, 4, KINST_BREAK
	.size	kinst_detours, . - kinst_detours

	.type	kinst_fault_unused, @object
kinst_fault_unused:
	.fill	KINST_SLOT_SIZE / 4, 4, KINST_BREAK
	.size	kinst_fault_unused, . - kinst_fault_unused

	.section __ex_table, "a"
	.balign	4
	.globl	kinst_fault_entries
kinst_fault_entries:
	.set	slot, 0
	.rept	KINST_FAULT_SLOTS
	.long	(kinst_fault_pool + slot * KINST_SLOT_SIZE) - .
	.long	kinst_fault_unused - .
	.short	EX_TYPE_BPF
	.short	0
	.set	slot, slot + 1
	.endr
	.globl	kinst_fault_entries_end
kinst_fault_entries_end:

	.section .note.GNU-stack, "", @progbits
