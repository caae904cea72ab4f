/* SPDX-License-Identifier: GPL-2.0 */
/* unwind_hints.h: empty hints, as there is no kernel unwinder in user space. */
#define UNWIND_HINT_REGS
#define UNWIND_HINT_FUNC
