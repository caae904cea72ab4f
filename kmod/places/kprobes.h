/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/kprobes.h: keeps the kernel from turning kprobes into jumps in functions that have sites.
 */
#ifndef _KINST_KPROBES_H
#define _KINST_KPROBES_H

/* Intercepts the kernel when it turns kprobes into jumps. If this fails, the module cannot be loaded. */
int kinst_kprobes_init(void);
void kinst_kprobes_exit(void);

#endif /* _KINST_KPROBES_H */
