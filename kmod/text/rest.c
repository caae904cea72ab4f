// SPDX-License-Identifier: GPL-2.0
/*
 * text/rest.c: a function that ftrace can trace, the only one of the module; nothing calls it.
 */
#include <linux/compiler.h>

#include "text/rest.h"

noinline void kinst_fentry_rest(void)
{
	barrier();
}
