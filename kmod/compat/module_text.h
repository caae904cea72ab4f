/* SPDX-License-Identifier: GPL-2.0 */
/* compat/module_text.h: where a module's code is: in one of several memories since 6.4, at the start of one before. */
#ifndef _KINST_COMPAT_MODULE_TEXT_H
#define _KINST_COMPAT_MODULE_TEXT_H

#include <linux/module.h>
#include <linux/version.h>

static inline void kinst_module_text(const struct module *mod, unsigned long *start, unsigned long *size)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	*start = (unsigned long)mod->mem[MOD_TEXT].base;
	*size = mod->mem[MOD_TEXT].size;
#else
	*start = (unsigned long)mod->core_layout.base;
	*size = mod->core_layout.text_size;
#endif
}

#endif /* _KINST_COMPAT_MODULE_TEXT_H */
