/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/once.h: probes that are removed at their first hit (KINST_IMAGE_ONCE).
 *
 * Once such a probe is hit, the original instruction is restored, and runs in place. If a hit itself can do that, the
 * probe has no slot. So there can be hundreds of thousands.
 */
#ifndef _KINST_ONCE_H
#define _KINST_ONCE_H

#include <linux/list.h>
#include <linux/ptrace.h>
#include "text/site.h"

struct kinst_func;
struct kinst_once; /* the probes of one session */
struct module;

/* For at most n probes; NULL if out of memory. Context of all except kinst_once_trap(): process. */
struct kinst_once *kinst_once_new(struct kinst_session *s, u32 n);

/*
 * Stages the probe of this index at the instruction of f, if the place is free. when: the outcome of the branch at
 * which it fires. With the mutex and the patch lock held.
 */
enum kinst_reason kinst_once_stage(struct kinst_once *once, const struct kinst_func *f, u32 probe,
				   const struct kinst_arch_insn *insn, enum kinst_when when);

/* Called when all are staged: claims their places. Probes whose place is taken get a reason. With the mutex held. */
void kinst_once_ready(struct kinst_once *once, struct kinst_result *res);

/* Writes the breakpoints. With the mutex held. */
void kinst_once_arm(struct kinst_once *once);

/* The mirror of both, and of staging. With the mutex held. */
void kinst_once_disarm(struct kinst_once *once);

/* Restores and drops the places in a module that is unloaded. With the mutex held. */
void kinst_once_module_goes(const struct module *mod);

/* The original opcode if one of these probes is at the place, else NULL. With the mutex held. */
const kinst_opcode_t *kinst_once_original(unsigned long addr);

/* Handles a hit. False if there is no such probe at addr. Context: the probe path, interrupts off, NMI-like, any stack. */
bool kinst_once_trap(struct pt_regs *regs, unsigned long addr);

#endif /* _KINST_ONCE_H */
