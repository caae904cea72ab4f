// SPDX-License-Identifier: GPL-2.0
/*
 * text/site.c: all sites, by address.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rculist.h>

#include "context.h"
#include "text/site.h"

struct hlist_head kinst_site_hash[1 << KINST_HASH_BITS];

struct kinst_site *__probe_path kinst_site_find(unsigned long addr)
{
	return kinst_site_lookup(addr);
}
NOKPROBE_SYMBOL(kinst_site_find);

void kinst_site_publish(struct kinst_site *site)
{
	hlist_add_head_rcu(&site->node, &kinst_site_hash[hash_long(site->addr, KINST_HASH_BITS)]);
}

void kinst_site_unpublish(struct kinst_site *site)
{
	hlist_del_rcu(&site->node);
}

void kinst_site_for_each(void (*f)(struct kinst_site *site, void *arg), void *arg)
{
	struct kinst_site *site;
	struct hlist_node *next;
	int i;

	for (i = 0; i < ARRAY_SIZE(kinst_site_hash); i++)
		hlist_for_each_entry_safe(site, next, &kinst_site_hash[i], node)
			f(site, arg);
}

void kinst_site_lose(struct kinst_site *site)
{
	pr_warn("kinst: the breakpoint or jump at %pS was overwritten and may come back: the module stays loaded\n",
		(void *)site->addr);
	__module_get(THIS_MODULE);
	site->lost = true;
}
