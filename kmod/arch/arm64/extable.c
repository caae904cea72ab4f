// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/extable.c: changes to an exception-table entry while the module is loaded.
 */
#include <linux/build_bug.h>
#include <linux/extable.h>

#include "arch/arch.h"

unsigned long kinst_arch_extable(const struct exception_table_entry *entry, const struct exception_table_entry *like,
				 unsigned long fixup, int words[2])
{
	BUILD_BUG_ON(offsetof(struct exception_table_entry, type) !=
		     offsetof(struct exception_table_entry, fixup) + sizeof(int));
	BUILD_BUG_ON(sizeof(*entry) != 3 * sizeof(int));
	words[0] = (int)(fixup - (unsigned long)&entry->fixup);
	words[1] = (u16)like->type | (int)like->data << 16;
	return (unsigned long)&entry->fixup;
}
