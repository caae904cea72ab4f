/* SPDX-License-Identifier: GPL-2.0 */
/* compat/module_text.h: the code and data of a module: in several areas since 6.4, in one before. */
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

/* The data that remains writable. */
static inline void kinst_module_data(const struct module *mod, unsigned long *start, unsigned long *size)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	*start = (unsigned long)mod->mem[MOD_DATA].base;
	*size = mod->mem[MOD_DATA].size;
#else
	*start = (unsigned long)mod->core_layout.base + mod->core_layout.ro_after_init_size;
	*size = mod->core_layout.size - mod->core_layout.ro_after_init_size;
#endif
}

#endif /* _KINST_COMPAT_MODULE_TEXT_H */
