// SPDX-License-Identifier: GPL-2.0
/*
 * arch/ksym.c: finds the symbols of ksym.h. kallsyms_lookup_name() itself is not
 * exported; its address comes from a kprobe that is registered temporarily.
 */
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "arch/arch.h"
#include "arch/ksym.h"

struct kinst_ksym_row {
	unsigned long *addr;
	bool optional;
	const char *names[3]; /* its names in different kernels, ended by NULL */
};

#define NEED(var, ...) { &kinst_addr_##var, false, { __VA_ARGS__ } }
#define WANT(var, ...) { &kinst_addr_##var, true, { __VA_ARGS__ } }
#define NEED_IF(config, var, ...) { &kinst_addr_##var, !IS_ENABLED(config), { __VA_ARGS__ } }

static const struct kinst_ksym_row kinst_ksym_rows[] = {
	KINST_ARCH_KSYM_ROWS(NEED, WANT),
	NEED(kallsyms_lookup_size_offset, "kallsyms_lookup_size_offset"),
	NEED(get_kprobe, "get_kprobe"),
	NEED(ftrace_location_range, "ftrace_location_range"),
	NEED(search_exception_tables, "search_exception_tables"),
	NEED(module_text_address, "__module_text_address"),
	NEED(ct_nmi_enter, "ct_nmi_enter", "rcu_nmi_enter"),
	NEED(ct_nmi_exit, "ct_nmi_exit", "rcu_nmi_exit"),
	NEED(text_mutex, "text_mutex"),
	NEED(kprobe_mutex, "kprobe_mutex"),
	NEED(kprobe_blacklist, "kprobe_blacklist"),
	NEED_IF(CONFIG_OPTPROBES, arch_optimize_kprobes, "arch_optimize_kprobes"),
	NEED(stext, "_stext"),
	NEED(etext, "_etext"),
	NEED(sinittext, "_sinittext"),
	NEED(einittext, "_einittext"),
	NEED_IF(CONFIG_JUMP_LABEL, start_jump_table, "__start___jump_table"),
	NEED_IF(CONFIG_JUMP_LABEL, stop_jump_table, "__stop___jump_table"),
	NEED_IF(CONFIG_HAVE_STATIC_CALL_INLINE, start_static_call_sites, "__start_static_call_sites"),
	NEED_IF(CONFIG_HAVE_STATIC_CALL_INLINE, stop_static_call_sites, "__stop_static_call_sites"),
	NEED_IF(CONFIG_HAVE_STATIC_CALL, static_call_text_start, "__static_call_text_start"),
	NEED_IF(CONFIG_HAVE_STATIC_CALL, static_call_text_end, "__static_call_text_end"),
	WANT(cpu_curr_snapshot, "cpu_curr_snapshot"),
	WANT(perf_event_text_poke, "perf_event_text_poke"),
	WANT(start_ex_table, "__start___ex_table"),
	WANT(stop_ex_table, "__stop___ex_table"),
	WANT(sys_call_table, "sys_call_table"),
	WANT(sys_ni_syscall, KINST_ARCH_SYS "ni_syscall"),
};

unsigned long kinst_ksym(const char *const *names)
{
	unsigned long addr;

	for (; *names; names++) {
		addr = kinst_sym_kallsyms_lookup_name(*names);
		if (addr)
			return addr;
	}
	return 0;
}

bool kinst_symbol_range(unsigned long addr, unsigned long *size, unsigned long *offset)
{
	return kinst_sym_kallsyms_lookup_size_offset(addr, size, offset) && *size;
}

void kinst_symbol_name(unsigned long addr, char *name)
{
	sprint_symbol_no_offset(name, addr);
	name[strcspn(name, " ")] = '\0';
}

static int kinst_ksym_first(void)
{
	struct kprobe kp = { .symbol_name = "kallsyms_lookup_name" };
	int err = register_kprobe(&kp);

	if (err) {
		pr_err("kinst: cannot find kallsyms_lookup_name with a kprobe (%d)\n", err);
		return err;
	}
	kinst_addr_kallsyms_lookup_name = kinst_arch_function_start((unsigned long)kp.addr);
	unregister_kprobe(&kp);
	return 0;
}

int kinst_ksym_init(void)
{
	int i, err = kinst_ksym_first();

	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(kinst_ksym_rows); i++) {
		const struct kinst_ksym_row *row = &kinst_ksym_rows[i];

		*row->addr = kinst_ksym(row->names);
		if (*row->addr || row->optional)
			continue;
		pr_err("kinst: this kernel has no symbol %s%s%s, which the module needs\n", row->names[0],
		       row->names[1] ? " nor " : "", row->names[1] ?: "");
		return -ENOENT;
	}
	return 0;
}
