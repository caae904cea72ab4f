/* SPDX-License-Identifier: GPL-2.0 */
/*
 * context.h: annotations for the contexts in which a function of the probe path may be called.
 * None of these functions sleeps, locks, allocates, prints or faults. None may be
 * traced, so NOKPROBE_SYMBOL() follows each function that is not inlined.
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

/* From a hit: interrupts are off, the guard is taken (program/kernel/guard.h), and we own the CPU's data. */
#define __at_hit notrace

#endif /* _KINST_CONTEXT_H */
