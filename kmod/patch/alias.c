// SPDX-License-Identifier: GPL-2.0
/*
 * patch/alias.c: a second mapping of text pages: one area for the kernel, and one for each module. A module's area is
 * unmapped when the module is unloaded, since its pages are then reused.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "arch/ksym.h"
#include "patch/alias.h"

struct kinst_alias_area {
	struct list_head node;
	const struct module *mod; /* NULL: the kernel's own text */
	u8 *at;
};

struct kinst_alias {
	struct list_head areas;
	u32 npages;
	struct {
		unsigned long addr;
		u8 *at;
	} pages[];
};

static const struct module *kinst_text_module(unsigned long addr)
{
	const struct module *mod;

	if (kinst_is_own_text(addr))
		return NULL;
	preempt_disable();
	mod = kinst_sym_module_text_address(addr);
	preempt_enable();
	return mod;
}

static struct page *kinst_text_page(unsigned long addr)
{
	return kinst_is_own_text(addr) ? pfn_to_page(PHYS_PFN(__pa_symbol(addr))) : vmalloc_to_page((void *)addr);
}

/* Maps the pages of one module, from first on. Returns the index of the page after them, or 0 if out of memory. */
static u32 kinst_alias_map(struct kinst_alias *alias, struct page **pages, u32 first)
{
	struct kinst_alias_area *area = kzalloc(sizeof(*area), GFP_KERNEL);
	u32 i, end = first + 1;

	if (!area)
		return 0;
	area->mod = kinst_text_module(alias->pages[first].addr);
	while (end < alias->npages && kinst_text_module(alias->pages[end].addr) == area->mod)
		end++;
	list_add(&area->node, &alias->areas);
	area->at = vmap(pages + first, end - first, VM_MAP, PAGE_KERNEL);
	if (!area->at)
		return 0;
	for (i = first; i < end; i++)
		alias->pages[i].at = area->at + (i - first) * PAGE_SIZE;
	return end;
}

struct kinst_alias *kinst_alias_new(const unsigned long *addrs, u32 n)
{
	struct page **pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL);
	struct kinst_alias *alias = kvzalloc(struct_size(alias, pages, n), GFP_KERNEL);
	u32 i, next = 0;

	if (alias)
		INIT_LIST_HEAD(&alias->areas);
	if (pages && alias) {
		alias->npages = n;
		for (i = 0; i < n; i++) {
			alias->pages[i].addr = addrs[i];
			pages[i] = kinst_text_page(addrs[i]);
		}
		do
			next = kinst_alias_map(alias, pages, next);
		while (next && next < n);
	}
	kvfree(pages);
	if (next == n)
		return alias;
	kinst_alias_free(alias);
	return NULL;
}

static void kinst_alias_unmap(struct kinst_alias_area *area)
{
	list_del(&area->node);
	vunmap(area->at);
	kfree(area);
}

void kinst_alias_free(struct kinst_alias *alias)
{
	struct kinst_alias_area *area, *next;

	if (!alias)
		return;
	list_for_each_entry_safe(area, next, &alias->areas, node)
		kinst_alias_unmap(area);
	kvfree(alias);
}

void kinst_alias_leave(struct kinst_alias *alias, const struct module *mod)
{
	struct kinst_alias_area *area, *next;

	if (!alias)
		return;
	list_for_each_entry_safe(area, next, &alias->areas, node)
		if (area->mod == mod)
			kinst_alias_unmap(area);
}

u8 *kinst_alias_of(const struct kinst_alias *alias, unsigned long addr)
{
	u32 lo = 0, hi = alias->npages;

	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (alias->pages[mid].addr <= addr)
			lo = mid;
		else
			hi = mid;
	}
	return alias->pages[lo].at + offset_in_page(addr);
}
