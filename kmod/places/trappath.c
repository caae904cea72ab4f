// SPDX-License-Identifier: GPL-2.0
/*
 * places/trappath.c: the functions where a breakpoint does not reach our handler, and
 * that kprobes itself does not exclude.
 *
 * The functions on the path run between a breakpoint and our handler, or after it on the
 * return; kprobes is called before us. A probe in one of them would hit itself
 * until the stack is full. The others run where no trap is handled.
 *
 * Both kinds are found by name and by a walk, at load, over all calls in the running
 * kernel's text (walk.c). Names do not suffice, since another configuration has
 * other functions there (lockdep, sanitizers, alternatives). The names, and the functions
 * where the walks begin and end, come from the architecture.
 */
#include <linux/bsearch.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "places/func.h"
#include "places/trappath.h"

/* Compares the name without the suffix that a compiler adds for a copy or a part (.cold, .isra.0). */
bool kinst_is_listed(const char *const *names, const char *name)
{
	size_t len = strcspn(name, ".");

	for (; *names; names++)
		if (**names == *name && !strncmp(*names, name, len) && !(*names)[len])
			return true;
	return false;
}

/* Whether the name begins with one of these prefixes. */
bool kinst_begins_as(const char *const *beginnings, const char *name)
{
	for (; *beginnings; beginnings++)
		if (strstarts(name, *beginnings))
			return true;
	return false;
}

/* Prefixes of the names of tracepoint listeners: each event has its own functions. */
static const char *const kinst_listener_names[] = { "trace_event_raw_event_", "perf_trace_", "__bpf_trace_", NULL };

/* Functions called on these paths, but not for our breakpoints: they report or panic. A walk skips them. */
#define KINST_REPORTS "die", "__die", "panic", "nmi_panic", "dump_", "show_", "report_bug", "bust_spinlocks"

/* The same for logging a line. */
#define KINST_LOGS "printk", "_printk", "vprintk", "__printk", "print_"

/* In addition: moving a task whose CPU mask has changed. */
static const char *const kinst_walk_not[] = {
	KINST_REPORTS, KINST_LOGS, "task_rq_lock", "__set_cpus_allowed_ptr",
	NULL
};

/* In addition: warnings, which are traps themselves, and reset the machine if nothing handles one. */
static const char *const kinst_no_trap_not[] = { KINST_REPORTS, KINST_LOGS, "__warn", "warn_", NULL };

static const char *const kinst_set_up_not[] = { KINST_REPORTS, NULL };

static const char *const kinst_no_names[] = { NULL };

struct kinst_walk kinst_trap_path = { .not = kinst_walk_not, .ends = kinst_no_names };
struct kinst_walk kinst_listeners = { .not = kinst_walk_not, .ends = kinst_no_names, .untraced = true };
struct kinst_walk kinst_no_trap = { .not = kinst_no_trap_not, .ends = kinst_arch_no_trap_ends };
struct kinst_walk kinst_set_up = { .not = kinst_set_up_not, .ends = kinst_no_names };

bool kinst_has_walked(const struct kinst_walk *w, unsigned long start)
{
	unsigned int i;

	if (w->done)
		return bsearch(&start, w->start, w->n, sizeof(start), kinst_compare_addrs);
	for (i = 0; i < w->n; i++)
		if (w->start[i] == start)
			return true;
	return false;
}

struct kinst_walk *const kinst_walks[KINST_WALKS] = { &kinst_trap_path, &kinst_listeners, &kinst_no_trap, &kinst_set_up };

void kinst_trap_path_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinst_walks); i++)
		kvfree(kinst_walks[i]->start);
}

bool kinst_is_trap_path(const struct kinst_func *f)
{
	return kinst_has_walked(&kinst_trap_path, f->start) || kinst_is_listed(kinst_arch_trap_path, f->name) ||
	       kinst_arch_is_thunk_name(f->name) ||
	       (kinst_listeners.n && !f->site &&
		(kinst_has_walked(&kinst_listeners, f->start) || kinst_begins_as(kinst_listener_names, f->name)));
}

bool kinst_has_no_trap(const struct kinst_func *f)
{
	return kinst_has_walked(&kinst_no_trap, f->start) || kinst_has_walked(&kinst_set_up, f->start) ||
	       kinst_is_listed(kinst_arch_no_trap, f->name) || kinst_begins_as(kinst_arch_no_trap_names, f->name);
}
