// SPDX-License-Identifier: GPL-2.0
/*
 * patch/detour.c: the detours in use, by index.
 */
#include <linux/kprobes.h>

#include "context.h"
#include "patch/detour.h"
#include "patch/tramp.h"

struct kinst_detour *kinst_detour_of[KINST_DETOURS_IN_ALL];

/* Context: any, NMI included, with interrupts off. */
__probe_path unsigned long kinst_detour_place(unsigned long addr, bool *pushed, unsigned int *called)
{
	unsigned int number = kinst_detour_number(addr), i;
	const struct kinst_detour *d;
	unsigned long in;

	if (number == KINST_DETOURS_IN_ALL)
		return 0;
	d = READ_ONCE(kinst_detour_of[number]);
	if (!d)
		return 0;
	in = addr - d->at;
	if (in < KINST_DETOUR_COPIES) {
		*called = in;
		return d->place;
	}
	for (i = d->n - 1; i && d->copies[i] > in; i--)
		;
	if (in == d->copies[i])
		return d->place + d->from[i];
	*pushed = d->calls && i == d->n - 1;
	return d->place + d->from[*pushed ? i : i + 1];
}
NOKPROBE_SYMBOL(kinst_detour_place);
