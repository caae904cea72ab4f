// SPDX-License-Identifier: GPL-2.0
/*
 * arch/addresses.c: the addresses of the symbols of ksym.h, set by ksym.c and used by the thunks.
 */
#include "arch/ksym.h"

#define KINST_KSYM_DEFINE(name) unsigned long kinst_addr_##name;
KINST_KSYM_FUNCTIONS(KINST_KSYM_DEFINE)
KINST_KSYM_DATA(KINST_KSYM_DEFINE)
#undef KINST_KSYM_DEFINE
