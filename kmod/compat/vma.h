/* SPDX-License-Identifier: GPL-2.0 */
/* compat/vma.h: the flags of a mapping: assigned until 6.3, set through functions since then. */
#ifndef _KINST_COMPAT_VMA_H
#define _KINST_COMPAT_VMA_H

#include <linux/mm.h>
#include <linux/version.h>

static inline void kinst_vma_clear_flags(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, flags);
#else
	vma->vm_flags &= ~flags;
#endif
}

static inline void kinst_vma_set_flags(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

#endif /* _KINST_COMPAT_VMA_H */
