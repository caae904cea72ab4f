/* SPDX-License-Identifier: GPL-2.0 */
/* unwind_hints.h: there is no unwinder of the kernel's in user space. */
#define UNWIND_HINT_REGS
#define UNWIND_HINT_FUNC
