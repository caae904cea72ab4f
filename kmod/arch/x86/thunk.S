/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/thunk.S: one thunk for each function of ksym.h.
 *
 * A return may reach functions that an indirect call may not: functions whose address
 * the kernel never takes lose their endbr64 at boot. To the unwinder, the return looks
 * like the first instruction of the function, whose caller is on the stack.
 */
#include <linux/linkage.h>
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>

.macro KINST_THUNK name
SYM_FUNC_START(kinst_sym_\name)
	pushq	kinst_addr_\name(%rip)
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(kinst_sym_\name)
.endm

	.text
KINST_THUNK kallsyms_lookup_name
KINST_THUNK kallsyms_lookup_size_offset
KINST_THUNK insn_decode
KINST_THUNK text_poke
KINST_THUNK text_poke_sync
KINST_THUNK get_kprobe
KINST_THUNK recover_probed_instruction
KINST_THUNK ftrace_location_range
KINST_THUNK search_exception_tables
KINST_THUNK alternatives_text_reserved
KINST_THUNK module_text_address
KINST_THUNK perf_event_text_poke
KINST_THUNK ct_nmi_enter
KINST_THUNK ct_nmi_exit
KINST_THUNK nmi_uaccess_okay
KINST_THUNK cpu_curr_snapshot
