/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/host.h: the functions that have our breakpoints or jumps, and how kprobes are kept out of them.
 */
#ifndef _KINST_HOST_H
#define _KINST_HOST_H

#include <linux/kprobes.h>
#include <linux/types.h>

struct kinst_func;

/*
 * A function with sites. Kprobes decodes a function's bytes to find where its instructions begin and where its
 * branches lead, and would take our bytes for the kernel's own. No kprobe may be added while there is a site.
 */
struct kinst_host {
	struct hlist_node node; /* by start */
	struct rcu_head rcu;
	unsigned long start;
	unsigned int sites;
	struct kprobe_blacklist_entry out; /* in the kernel's list: from after the ftrace site to the end */
};

/* Adds a site to the function's count, before the site is armed; NULL if out of memory. With the patch lock held. */
struct kinst_host *kinst_host_get(const struct kinst_func *f);

/* The mirror, after the site has been removed. With the patch lock held. */
void kinst_host_put(struct kinst_host *host);

/* Whether the kernel itself keeps kprobes out of the function. With the patch lock held. */
bool kinst_is_kept_out(const struct kinst_func *f);

/* Called when the kernel's list may have changed: a module was loaded or unloaded. */
void kinst_hosts_module_changed(void);

/* Whether the function at addr has sites. Under kprobe_mutex. */
bool kinst_is_hosted(unsigned long addr);

void kinst_hosts_exit(void);

#endif /* _KINST_HOST_H */
