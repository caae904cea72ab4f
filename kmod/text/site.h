/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/site.h: sites and their listeners.
 *
 * A site is a place in the text that we have instrumented: with a breakpoint, or
 * through ftrace. It exists once, however many probes of however many
 * sessions use it; each of these probes is a listener of the site.
 */
#ifndef _KINST_SITE_H
#define _KINST_SITE_H

#include <linux/hash.h>
#include <linux/list.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "arch/arch.h"

struct kinst_host;
struct kinst_jump;
struct kinst_points;
struct kinst_session;

struct kinst_site {
	struct hlist_node node; /* in the hash of sites; RCU */
	struct list_head listeners; /* RCU */
	union {
		struct list_head batch; /* being armed, removed, or waiting for its slot to be free */
		struct rcu_head rcu;
	};
	unsigned long addr;
	struct kinst_host *host; /* its function; NULL: served by ftrace */
	unsigned long slot; /* 0: served by ftrace */
	unsigned long onward; /* where a hit of the breakpoint continues: in the slot, or in the detour */
	struct kinst_jump *jump; /* patched or prepared; under the mutex */
	struct list_head hopeful; /* among the candidates for a jump */
	kinst_opcode_t original; /* what the breakpoint replaced */
	u16 cond; /* of a conditional branch, for kinst_arch_taken() */
	bool fentry; /* served by ftrace */
	bool armed;
	bool lost; /* its breakpoint or jump was overwritten: it stays permanently */
};

/* The outcomes of a branch for which a listener is called. */
enum kinst_when {
	KINST_ALWAYS = 0,
	KINST_TAKEN,
	KINST_NOT_TAKEN,
	KINST_TARGET, /* an indirect jump goes to the edge's target */
};

#define KINST_OVER ARRAY_SIZE(((struct kinst_probe *)NULL)->over)

/* A jump label that an edge leads over, and where it must lead for that. */
struct kinst_hop {
	unsigned long at;
	unsigned long to;
	u8 len;
};

/* Further conditions, besides a branch's, under which control takes the edge of a listener. */
struct kinst_way {
	unsigned long target; /* of an indirect jump */
	struct kinst_arch_operand operand;
	u8 nhops;
	struct kinst_hop hops[KINST_OVER];
};

struct kinst_listener {
	struct list_head node; /* in the site's listeners; RCU */
	struct list_head mine; /* in the points' listeners */
	struct kinst_session *session;
	struct kinst_way *way; /* NULL: not an edge */
	u8 when; /* enum kinst_when */
	bool nojump; /* its session excludes jumps */
	bool linked; /* the caller is in the link register there */
	struct kinst_site *site; /* NULL: its module was unloaded */
	struct kinst_points *points;
	unsigned long ip; /* the address that the programs see */
	u32 probe; /* index in the session's image */
	u32 kind; /* KINST_P_* */
	u64 exit; /* FBT_RETURN: offset of the exit from the function's start */
};

#define KINST_HASH_BITS 15

/* The hash of sites. Writers hold kinst_sites_mutex; readers are on the probe path. */
extern struct hlist_head kinst_site_hash[1 << KINST_HASH_BITS];

/* Context: any; the caller is in an RCU read-side section or holds kinst_sites_mutex. */
static __always_inline struct kinst_site *kinst_site_lookup(unsigned long addr)
{
	struct kinst_site *site;

	hlist_for_each_entry_rcu_notrace(site, &kinst_site_hash[hash_long(addr, KINST_HASH_BITS)], node) {
		if (site->addr == addr)
			return site;
	}
	return NULL;
}

/* The same, not inline, for callers outside the path of a breakpoint. */
struct kinst_site *kinst_site_find(unsigned long addr);
void kinst_site_publish(struct kinst_site *site);
void kinst_site_unpublish(struct kinst_site *site);
/* Calls f for every site; f may unpublish it. */
void kinst_site_for_each(void (*f)(struct kinst_site *site, void *arg), void *arg);

/* Pins a site and the module: our bytes there were overwritten, and may be written back. */
void kinst_site_lose(struct kinst_site *site);

#endif /* _KINST_SITE_H */
