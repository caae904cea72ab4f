/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/pool.S: the trampoline slots, in the module's text: within reach of the
 * kernel's text, read-only, named in backtraces, and with exception-table
 * entries that the kernel searches like any module's.
 *
 * Every slot of the fault pool has an entry, in the order of the slots, so that
 * the table is already sorted. patch/tramp.c writes its fixup and type when the
 * slot is used. Until then the fixup is a breakpoint that belongs to no site:
 * objtool requires an instruction there, and continuing in an unused slot would be
 * a bug. No indirect branch leads to a slot, so none begins with endbr64.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <machine/text.h>
#include "arch/pool.h"

	.section .text.kinst_pool, "ax", @progbits
	.balign	4096
	.globl	kinst_pool
	.type	kinst_pool, @object
kinst_pool:
	ANNOTATE_NOENDBR
	.skip	KINST_POOL_SLOTS * KINST_SLOT_SIZE, KINST_BREAK
	.size	kinst_pool, . - kinst_pool

	.globl	kinst_fault_pool
	.type	kinst_fault_pool, @object
kinst_fault_pool:
	ANNOTATE_NOENDBR
	.skip	KINST_FAULT_SLOTS * KINST_SLOT_SIZE, KINST_BREAK
	.size	kinst_fault_pool, . - kinst_fault_pool

	.globl	kinst_detours
	.balign	64
	.type	kinst_detours, @object
kinst_detours:
	ANNOTATE_NOENDBR
	.skip	KINST_DETOURS * KINST_DETOUR_LEN, KINST_BREAK
	.size	kinst_detours, . - kinst_detours

	.type	kinst_fault_unused, @object
kinst_fault_unused:
	.skip	KINST_SLOT_SIZE, KINST_BREAK
	.size	kinst_fault_unused, . - kinst_fault_unused

	.section __ex_table, "a"
	.balign	4
	.globl	kinst_fault_entries
kinst_fault_entries:
	.set	slot, 0
	.rept	KINST_FAULT_SLOTS
	.long	(kinst_fault_pool + slot * KINST_SLOT_SIZE) - .
	.long	kinst_fault_unused - .
	.long	EX_TYPE_DEFAULT
	.set	slot, slot + 1
	.endr
	.globl	kinst_fault_entries_end
kinst_fault_entries_end:

	.section .note.GNU-stack, "", @progbits
