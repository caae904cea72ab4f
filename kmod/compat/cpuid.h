/* SPDX-License-Identifier: GPL-2.0 */
/* compat/cpuid.h: cpuid(): in asm/processor.h until 6.15, in asm/cpuid/ since then. */
#ifndef _KINST_COMPAT_CPUID_H
#define _KINST_COMPAT_CPUID_H

#include <asm/processor.h>

#if __has_include(<asm/cpuid/api.h>)
#include <asm/cpuid/api.h>
#endif

#endif /* _KINST_COMPAT_CPUID_H */
