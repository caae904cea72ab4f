// SPDX-License-Identifier: GPL-2.0
/*
 * providers/gates.c: the gates of drivers' static probes: DTRACE_PROBE_ENABLED() of kinst/sdt.h tests one, and it is
 * open while a session traces the probe.
 *
 * A gate is a static key of the driver. The kernel switches it, and counts its users.
 */
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "arch/ksym.h"
#include "compat/module_text.h"
#include "places/refuse.h"
#include "providers/gates.h"

#define KINST_MAX_GATES 1024

/* As kinst/sdt.h lays it out. */
struct kinst_sdt_gate {
	u64 magic;
	struct static_key_false key;
};

#define KINST_SDT_GATE 0x657461672d746473ull

struct kinst_gate {
	struct list_head node; /* kinst_open */
	struct module *mod; /* NULL: unloaded, and the key with it */
	struct static_key *key;
};

struct kinst_gates {
	u32 n;
	struct kinst_gate list[];
};

/* The gates that sessions hold open. The mutex is held while a key is switched, so that its module stays loaded. */
static LIST_HEAD(kinst_open);
static DEFINE_MUTEX(kinst_open_mutex);

/* ---- recognizing a gate ---- */

static bool is_key(const struct module *mod, const struct static_key *key)
{
#ifdef CONFIG_JUMP_LABEL
	unsigned int i;

	for (i = 0; i < mod->num_jump_entries; i++)
		if (jump_entry_key(&mod->jump_entries[i]) == key)
			return true;
#endif
	return false;
}

/*
 * Nothing from user space is trusted: the gate must be in the data of the function's module, the magic must precede
 * it, and code of that driver must branch on the key.
 */
static enum kinst_reason check(const struct module *mod, unsigned long addr)
{
	const struct kinst_sdt_gate *gate = (const struct kinst_sdt_gate *)addr;
	unsigned long start, size;

	kinst_module_data(mod, &start, &size);
	if (!IS_ALIGNED(addr, __alignof__(*gate)) || size < sizeof(*gate) || addr < start ||
	    addr - start > size - sizeof(*gate))
		return KINST_R_MISMATCH;
	return gate->magic == KINST_SDT_GATE && is_key(mod, &gate->key.key) ? KINST_OK : KINST_R_MISMATCH;
}

/* ---- arm and disarm ---- */

static enum kinst_reason open_gate(struct kinst_gate *gate, const struct kinst_probe *probe)
{
	unsigned long addr = probe->func + (long)(s32)probe->to;
	enum kinst_reason reason = KINST_R_NOFUNC;
	struct module *mod;

	preempt_disable();
	mod = kinst_sym_module_text_address(probe->func);
	if (mod)
		reason = kinst_refuse_module(mod, probe->func);
	if (!reason && !try_module_get(mod))
		reason = KINST_R_GONE;
	preempt_enable();
	if (reason)
		return reason;
	reason = check(mod, addr);
	if (!reason) {
		gate->mod = mod;
		gate->key = &((struct kinst_sdt_gate *)addr)->key.key;
		mutex_lock(&kinst_open_mutex);
		static_key_slow_inc(gate->key);
		list_add(&gate->node, &kinst_open);
		mutex_unlock(&kinst_open_mutex);
	}
	/* From here on the module may be unloaded: the notifier is called before its memory is freed. */
	module_put(mod);
	return reason;
}

struct kinst_gates *kinst_gates_arm(const struct kinst_probe *probes, u32 n, struct kinst_result *res)
{
	struct kinst_gates *gates;
	u32 i, wanted = 0;

	for (i = 0; i < n; i++)
		wanted += probes[i].kind == KINST_P_GATE;
	if (!wanted)
		return NULL;
	wanted = min_t(u32, wanted, KINST_MAX_GATES);
	gates = kvzalloc(struct_size(gates, list, wanted), GFP_KERNEL);
	if (!gates)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < n; i++) {
		if (probes[i].kind != KINST_P_GATE)
			continue;
		if (gates->n == wanted) {
			res[i].reason = KINST_R_LIMIT;
			continue;
		}
		res[i].reason = open_gate(&gates->list[gates->n], &probes[i]);
		gates->n += !res[i].reason;
		cond_resched();
	}
	return gates;
}

void kinst_gates_disarm(struct kinst_gates *gates)
{
	u32 i;

	if (!gates)
		return;
	for (i = 0; i < gates->n; i++) {
		struct kinst_gate *gate = &gates->list[i];

		mutex_lock(&kinst_open_mutex);
		list_del(&gate->node);
		if (gate->mod)
			static_key_slow_dec(gate->key);
		mutex_unlock(&kinst_open_mutex);
		cond_resched();
	}
	kvfree(gates);
}

/* A key is freed with its module, and is not switched back. */
static int module_event(struct notifier_block *nb, unsigned long event, void *mod)
{
	struct kinst_gate *gate;

	if (event != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	mutex_lock(&kinst_open_mutex);
	list_for_each_entry(gate, &kinst_open, node)
		if (gate->mod == mod)
			gate->mod = NULL;
	mutex_unlock(&kinst_open_mutex);
	return NOTIFY_OK;
}

static struct notifier_block module_nb = { .notifier_call = module_event };

int kinst_gates_init(void)
{
	return register_module_notifier(&module_nb);
}

void kinst_gates_exit(void)
{
	unregister_module_notifier(&module_nb);
}
