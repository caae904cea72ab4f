/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patch/patch.h: changes bytes of the kernel's text, in batches.
 */
#ifndef _KINST_PATCH_H
#define _KINST_PATCH_H

#include <linux/types.h>

#include "arch/arch.h"

/*
 * Held from reading live text to changing it: no kprobe is added or removed, no CPU goes
 * online or offline, and no other code patches. The holder may sleep.
 */
void kinst_patch_lock(void);
void kinst_patch_unlock(void);

/*
 * All with the lock held. A write is in memory after kinst_patch_flush(),
 * or after a write to another page, and all CPUs see it after kinst_patch_sync(),
 * which flushes.
 */
bool kinst_patch_arm(unsigned long addr, kinst_opcode_t original);
/* Its mirror. False if other code has overwritten the breakpoint. */
bool kinst_patch_restore(unsigned long addr, kinst_opcode_t original);
/* Replaces the first opcode of an instruction by a breakpoint, or the reverse. */
void kinst_patch_opcode(unsigned long addr, kinst_opcode_t opcode);
void kinst_patch_write(unsigned long addr, const void *bytes, size_t len);
void kinst_patch_flush(void);
void kinst_patch_sync(void);

/* Whether other code may change the bytes between two changes. Each call with true needs one with false. */
void kinst_patch_singly(bool on);

#endif /* _KINST_PATCH_H */
