/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/kernel/unaccepted.h: memory that a confidential guest (TDX, SEV-SNP) has not accepted yet. It is mapped, but
 * touching it does not fault: it kills the guest. Programs do not read there.
 */
#ifndef _KINST_UNACCEPTED_H
#define _KINST_UNACCEPTED_H

#include "program/env.h"

/* The firmware's table: a bit for each unit of memory from base on, set while the unit is not accepted. */
struct kinst_unaccepted {
	u64 base; /* a physical address */
	u64 unit; /* bytes */
	u64 units;
	const unsigned long *bits; /* the kernel clears a bit after it has accepted the unit */
};

/* Whether one of n bytes (not 0) at a physical address is not accepted. Memory without a bit is accepted. Context: any. */
static nokprobe_inline bool kinst_unaccepted_has(const struct kinst_unaccepted *map, u64 phys, u64 n)
{
	const unsigned int width = 8 * sizeof(*map->bits);
	u64 last = phys + n - 1, i;

	if (!map->units || last < phys || last < map->base)
		return false;
	last = min((last - map->base) / map->unit, map->units - 1);
	for (i = phys < map->base ? 0 : (phys - map->base) / map->unit; i <= last; i++)
		if (READ_ONCE(map->bits[i / width]) >> (i % width) & 1)
			return true;
	return false;
}

#ifdef CONFIG_UNACCEPTED_MEMORY
void kinst_unaccepted_init(void);

/* The same for n bytes at an address of the kernel. Context: any, NMI included. */
bool kinst_is_unaccepted(u64 addr, size_t n);
#else
static inline void kinst_unaccepted_init(void) {}

static nokprobe_inline bool kinst_is_unaccepted(u64 addr, size_t n)
{
	return false;
}
#endif

#endif /* _KINST_UNACCEPTED_H */
