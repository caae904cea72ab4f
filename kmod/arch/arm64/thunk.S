/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/thunk.S: one thunk for each function of ksym.h.
 *
 * x17 is free at a call: the kernel itself uses it between caller and callee.
 */
#include <linux/linkage.h>

.macro KINST_THUNK name
SYM_FUNC_START(kinst_sym_\name)
	adrp	x17, kinst_addr_\name
	ldr	x17, [x17, #:lo12:kinst_addr_\name]
	br	x17
SYM_FUNC_END(kinst_sym_\name)
.endm

	.text
KINST_THUNK kallsyms_lookup_name
KINST_THUNK kallsyms_lookup_size_offset
KINST_THUNK insn_copy
KINST_THUNK insn_patch_text
KINST_THUNK insn_patch_text_nosync
KINST_THUNK vmalloc_node_range
KINST_THUNK get_kprobe
KINST_THUNK ftrace_location_range
KINST_THUNK search_exception_tables
KINST_THUNK module_text_address
KINST_THUNK perf_event_text_poke
KINST_THUNK ct_nmi_enter
KINST_THUNK ct_nmi_exit
KINST_THUNK cpu_curr_snapshot

	.section .note.GNU-stack, "", @progbits
