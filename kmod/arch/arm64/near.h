/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/near.h: memory for code near the kernel.
 */
#ifndef _KINST_ARM64_NEAR_H
#define _KINST_ARM64_NEAR_H

#include <linux/types.h>

/* Whether the address is in that memory. Context: any, NMI included. */
bool kinst_is_near(unsigned long addr);

#endif /* _KINST_ARM64_NEAR_H */
