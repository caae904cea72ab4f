// SPDX-License-Identifier: GPL-2.0
/*
 * text/rest.c: the module's only function that ftrace can trace; nothing calls it.
 */
#include <linux/compiler.h>

#include "text/rest.h"

noinline void kinst_fentry_rest(void)
{
	barrier();
}
