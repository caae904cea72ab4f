/* SPDX-License-Identifier: GPL-2.0 */
/* ibt.h: a stand-in for the kernel's header, in user space. */
#define ENDBR endbr64
