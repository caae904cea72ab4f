/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/host.h: the functions that have breakpoints or jumps of ours, and what keeps kprobes out of them.
 */
#ifndef _KINST_HOST_H
#define _KINST_HOST_H

#include <linux/kprobes.h>
#include <linux/types.h>

struct kinst_func;

/*
 * A function with sites of ours. Kprobes decodes a function's bytes to know where its instructions begin and
 * where its branches lead, and takes ours for what the kernel is made of. So none may come as long as there is one.
 */
struct kinst_host {
	struct hlist_node node; /* by start */
	struct rcu_head rcu;
	unsigned long start;
	unsigned int sites;
	struct kprobe_blacklist_entry out; /* in the kernel's list: from behind the ftrace site to the end */
};

/* Takes the function for one site more, before that is armed; NULL without memory. With the patch lock held. */
struct kinst_host *kinst_host_get(const struct kinst_func *f);

/* The mirror, when the site is there no more. With the patch lock held. */
void kinst_host_put(struct kinst_host *host);

/* Does the kernel itself keep kprobes out of the function? With the patch lock held. */
bool kinst_is_kept_out(const struct kinst_func *f);

/* The kernel's list may have changed: a module has come or gone. */
void kinst_hosts_module_changed(void);

/* Stands before the kernel's making of jumps. Without it the module cannot be loaded. */
int kinst_hosts_init(void);
void kinst_hosts_exit(void);

#endif /* _KINST_HOST_H */
