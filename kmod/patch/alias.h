/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patch/alias.h: a second mapping of text pages, writable and not executable.
 *
 * It exists as long as a hit may have to write there, but for a module's pages no longer than the module.
 * Context of all: process.
 */
#ifndef _KINST_ALIAS_H
#define _KINST_ALIAS_H

#include <linux/types.h>

struct module;
struct kinst_alias;

/* Maps n >= 1 pages by their addresses, sorted and distinct. NULL if out of memory. Their modules must stay loaded. */
struct kinst_alias *kinst_alias_new(const unsigned long *pages, u32 n);
void kinst_alias_free(struct kinst_alias *alias);

/* The address in the second mapping of the text at addr, in one of the pages. */
u8 *kinst_alias_of(const struct kinst_alias *alias, unsigned long addr);

/* Unmaps the pages of a module that is unloaded. */
void kinst_alias_leave(struct kinst_alias *alias, const struct module *mod);

#endif /* _KINST_ALIAS_H */
