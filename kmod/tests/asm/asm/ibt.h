/* SPDX-License-Identifier: GPL-2.0 */
/* ibt.h: as the kernel's, in user space. */
#define ENDBR endbr64
