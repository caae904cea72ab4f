/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patch/alias.h: a second mapping of pages of the text, writable and not executable.
 *
 * It exists as long as a hit may have to write there; that of a module's pages no longer than the module.
 * Context of all: process.
 */
#ifndef _KINST_ALIAS_H
#define _KINST_ALIAS_H

#include <linux/types.h>

struct module;
struct kinst_alias;

/* Maps n pages, at least one, by their addresses, which are sorted and differ. NULL without memory. Their modules stay meanwhile. */
struct kinst_alias *kinst_alias_new(const unsigned long *pages, u32 n);
void kinst_alias_free(struct kinst_alias *alias);

/* The second address of what is at addr, in one of the pages. */
u8 *kinst_alias_of(const struct kinst_alias *alias, unsigned long addr);

/* Unmaps the pages of a module that goes. */
void kinst_alias_leave(struct kinst_alias *alias, const struct module *mod);

#endif /* _KINST_ALIAS_H */
