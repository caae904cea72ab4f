/* SPDX-License-Identifier: GPL-2.0 */
/* unwind_hints.h: empty hints, as user space has no kernel unwinder. */
#define UNWIND_HINT_REGS
#define UNWIND_HINT_FUNC
