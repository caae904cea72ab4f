/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/probe.h: sites and their listeners.
 *
 * A site is a place in the text where we have put something: a breakpoint, or
 * ftrace's callback. It exists once, however many probes of however many
 * sessions use it; each of those is a listener of the site.
 */
#ifndef _KINST_PROBE_H
#define _KINST_PROBE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "arch/arch.h"
#include "kinst.h"

struct kinst_func;
struct kinst_host;
struct kinst_jump;
struct kinst_once;

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
	struct kinst_jump *jump; /* that is there, or will be; under the mutex */
	struct list_head hopeful; /* among the candidates for a jump */
	kinst_opcode_t original; /* what the breakpoint replaced */
	u8 cond; /* of a conditional branch, for kinst_arch_taken() */
	bool fentry; /* served by ftrace */
	bool armed;
	bool lost; /* its breakpoint or jump was overwritten: it stays for ever */
};

/* The outcomes of a branch that a listener is called for. */
enum kinst_when {
	KINST_ALWAYS = 0,
	KINST_TAKEN,
	KINST_NOT_TAKEN,
	KINST_TARGET, /* an indirect jump goes to the way's target */
};

#define KINST_OVER ARRAY_SIZE(((struct kinst_probe *)NULL)->over)

/* A jump label that an edge leads over, and where it must lead for that. */
struct kinst_hop {
	unsigned long at;
	unsigned long to;
	u8 len;
};

/* The conditions, besides that of a branch, under which control takes the edge of a listener. */
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
	struct kinst_site *site; /* NULL: its module is gone */
	struct kinst_points *points;
	unsigned long ip; /* the address that the programs see */
	u32 probe; /* index in the session's image */
	u32 kind; /* KINST_P_* */
	u64 exit; /* FBT_RETURN: offset of the exit from the function's start */
};

/* Limits of one session: at all places together, and at one place, where a hit calls the listeners one by one. */
#define KINST_MAX_USERS (1 << 19)
#define KINST_MAX_USERS_OF_SITE 64

struct kinst_points {
	struct kinst_session *session;
	struct list_head listeners;
	struct kinst_once *once; /* NULL: none of its probes is taken away at its first hit */
	u32 nusers; /* staged ones too */
	u32 paid; /* listeners that the session has been charged for */
	bool nojump; /* breakpoints only */
	bool killed; /* a signal has ended the arming */
	bool undone; /* the mirror: a worker takes away what was armed until then */
	bool started;
	bool fentry; /* ftrace serves some of its places */
	struct list_head late; /* sites of ftrace that are being armed */
	struct list_head leaving; /* the mirror: that are to be disarmed */
	struct work_struct armer, undoer;
	struct completion armed;
	int err; /* of the armer */
};

/*
 * Stages a probe of the function: its new sites are added to fresh. Either all of its listeners are registered, or
 * *res has the reason. f is NULL if there was no memory for it. With the mutex and the patch lock held.
 */
void kinst_stage_probe(struct kinst_points *points, struct kinst_func *f, const struct kinst_probe *probe, u32 index,
		       struct kinst_result *res, struct list_head *fresh);
void kinst_listener_free(struct kinst_listener *listener);

/* Whether the probes of any session are being armed or disarmed. */
bool kinst_points_move(void);

/* A probe that is being armed: either all of its listeners are registered or none. */
struct kinst_want {
	struct kinst_points *points;
	const struct kinst_probe *probe;
	u32 index;
	struct kinst_func *func;
	struct list_head listeners; /* staged */
	struct list_head *fresh; /* sites that were made for this batch */
};

/*
 * Stages a listener of the instruction of f (of the ftrace site at addr). The caller has
 * checked the reasons against it. With the patch lock held.
 */
enum kinst_reason kinst_want_break(struct kinst_want *want, const struct kinst_func *f,
				   const struct kinst_arch_insn *insn, struct kinst_listener **listener);
enum kinst_reason kinst_want_fentry(struct kinst_want *want, unsigned long addr, unsigned long ip, struct kinst_listener **listener);

/* The original bytes at addr, below our breakpoint or jump, and how many; 0: nothing of ours is there. */
size_t kinst_site_original(unsigned long addr, const u8 **bytes);

/* The providers: KINST_OK when every place of the probe is staged. */
enum kinst_reason kinst_want_insn(struct kinst_want *want, struct kinst_result *res);
enum kinst_reason kinst_want_edge(struct kinst_want *want, struct kinst_result *res);
enum kinst_reason kinst_want_entry(struct kinst_want *want);
enum kinst_reason kinst_want_return(struct kinst_want *want);

#endif /* _KINST_PROBE_H */
