// SPDX-License-Identifier: GPL-2.0
/* program/kernel/unaccepted.c: recognizes kernel addresses of memory that a confidential guest has not accepted. */
#include <linux/efi.h>
#include <linux/io.h>
#include <linux/kprobes.h>
#include <linux/mm.h>

#include "context.h"
#include "program/kernel/unaccepted.h"

static struct kinst_unaccepted kinst_map; /* units is 0 if the guest has no such memory */

/* Only the direct map has such pages: memory mapped elsewhere was accepted when it was allocated. */
__probe_path bool kinst_is_unaccepted(u64 addr, size_t n)
{
	u64 end = (unsigned long)high_memory;

	return kinst_map.units && n && addr >= PAGE_OFFSET && addr < end &&
	       kinst_unaccepted_has(&kinst_map, __pa(addr), n);
}
NOKPROBE_SYMBOL(kinst_is_unaccepted);

void kinst_unaccepted_init(void)
{
	const struct efi_unaccepted_memory *table;

	if (!efi.unaccepted || efi.unaccepted == EFI_INVALID_TABLE_ADDR)
		return;
	table = phys_to_virt(efi.unaccepted);
	kinst_map = (struct kinst_unaccepted){
		.base = table->phys_base,
		.unit = table->unit_size,
		.units = table->unit_size ? table->size * BITS_PER_BYTE : 0,
		.bits = table->bitmap,
	};
}
