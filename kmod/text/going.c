// SPDX-License-Identifier: GPL-2.0
/*
 * text/going.c: removes the probes of a module that is unloaded; their sessions continue.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/rculist.h>
#include <linux/semaphore.h>

#include "patch/tramp.h"
#include "places/host.h"
#include "text/going.h"
#include "text/locks.h"
#include "text/once.h"
#include "text/sites.h"

struct kinst_going {
	struct module *mod;
	struct list_head dead, lost;
	bool fentry;
};

static void kinst_site_is_served(struct kinst_site *site, void *arg)
{
	struct kinst_going *going = arg;

	going->fentry |= site->fentry && within_module(site->addr, going->mod);
}

/* Removes a site of the module. Its listeners remain in their sessions, without a site. */
static void kinst_site_goes(struct kinst_site *site, void *arg)
{
	struct kinst_going *going = arg;
	struct kinst_listener *listener, *next;

	if (!within_module(site->addr, going->mod))
		return;
	list_for_each_entry_safe(listener, next, &site->listeners, node) {
		list_del_rcu(&listener->node);
		listener->site = NULL;
	}
	list_move_tail(&site->batch, site->lost ? &going->lost : &going->dead);
}

/* The module can no longer be referenced, so no session gets new sites in it. */
static void kinst_module_goes(struct module *mod)
{
	struct kinst_going going = { .mod = mod };

	INIT_LIST_HEAD(&going.dead);
	INIT_LIST_HEAD(&going.lost);
	mutex_lock(&kinst_sites_mutex);
	kinst_site_for_each(kinst_site_is_served, &going);
	mutex_unlock(&kinst_sites_mutex);
	if (going.fentry)
		down(&kinst_turn);
	mutex_lock(&kinst_sites_mutex);
	kinst_once_module_goes(mod);
	kinst_site_for_each(kinst_site_goes, &going);
	kinst_sites_disarm(&going.dead, &going.lost);
	kinst_sites_forget(&going.lost);
	kinst_tramp_forget(mod);
	mutex_unlock(&kinst_sites_mutex);
	kinst_sites_disarm_fentry(&going.dead);
	if (going.fentry)
		up(&kinst_turn);
}

static int kinst_module_event(struct notifier_block *nb, unsigned long event, void *mod)
{
	kinst_hosts_module_changed();
	if (event != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	kinst_module_goes(mod);
	return NOTIFY_OK;
}

static struct notifier_block kinst_module_nb = {
	.notifier_call = kinst_module_event,
};

int kinst_going_init(void)
{
	return register_module_notifier(&kinst_module_nb);
}

void kinst_going_exit(void)
{
	unregister_module_notifier(&kinst_module_nb);
}
