/* SPDX-License-Identifier: GPL-2.0 */
/* linkage.h: the parts of the kernel's header that text/entry.S needs; RET is a jump to a thunk, as in kernels. */
#define SYM_FUNC_START(name) .globl name; .type name, @function; name:
#define SYM_FUNC_END(name) .size name, . - name
#define SYM_DATA(name, data...) .globl name; name: data
#define RET jmp hostile_return_thunk
