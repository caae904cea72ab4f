/* SPDX-License-Identifier: GPL-2.0 */
/* segment.h: a stand-in for the kernel's header, in user space. */
#define __KERNEL_CS 0x10
#define __KERNEL_DS 0x18
