/* SPDX-License-Identifier: GPL-2.0 */
/*
 * context.h: the words that say from where a function of the probe path may be called.
 * None of these functions sleeps, locks, allocates, prints or faults; none may be
 * traced, so NOKPROBE_SYMBOL() follows each that is not inlined.
 */
#ifndef _KINST_CONTEXT_H
#define _KINST_CONTEXT_H

#ifdef __KERNEL__
#include <linux/compiler.h>
#else
#include "tests/shim.h"
#endif

/* From anywhere, including an NMI and our own work: before the guard is taken, or without it. */
#define __probe_path notrace

/* From a hit: interrupts are off, the guard is taken (program/kernel/guard.h), and the CPU's data are ours. */
#define __at_hit notrace

#endif /* _KINST_CONTEXT_H */
