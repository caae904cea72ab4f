/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/ksym.h: the kernel's unexported functions and data that the module uses.
 *
 * A function is called as kinst_sym_NAME(), a thunk in arch/: the kernel may
 * have sealed the function against indirect calls (IBT), so that a call through
 * a pointer would trap.
 */
#ifndef _KINST_KSYM_H
#define _KINST_KSYM_H

#include <linux/types.h>

#include <machine/ksym.h>

struct exception_table_entry;
struct kprobe;
struct module;
struct mutex;
struct task_struct;

/* X(name): the functions. The names that differ between kernels are in ksym.c. */
#define KINST_KSYM_FUNCTIONS(X)      \
	X(kallsyms_lookup_name)      \
	X(kallsyms_lookup_size_offset) \
	X(get_kprobe)                \
	X(ftrace_location_range)     \
	X(search_exception_tables)   \
	X(module_text_address)       \
	X(perf_event_text_poke)      \
	X(ct_nmi_enter)              \
	X(ct_nmi_exit)               \
	X(cpu_curr_snapshot)         \
	KINST_ARCH_KSYM_FUNCTIONS(X)

/* X(name): the data, as addresses. */
#define KINST_KSYM_DATA(X)           \
	X(text_mutex)                \
	X(kprobe_mutex)              \
	X(kprobe_blacklist)          \
	X(arch_optimize_kprobes)     \
	X(stext)                     \
	X(etext)                     \
	X(sinittext)                 \
	X(einittext)                 \
	X(start_ex_table)            \
	X(stop_ex_table)             \
	X(start_jump_table)          \
	X(stop_jump_table)           \
	X(start_static_call_sites)   \
	X(stop_static_call_sites)    \
	X(static_call_text_start)    \
	X(static_call_text_end)      \
	X(sys_call_table)            \
	X(sys_ni_syscall)            \
	KINST_ARCH_KSYM_DATA(X)

#define KINST_KSYM_EXTERN(name) extern unsigned long kinst_addr_##name;
KINST_KSYM_FUNCTIONS(KINST_KSYM_EXTERN)
KINST_KSYM_DATA(KINST_KSYM_EXTERN)
#undef KINST_KSYM_EXTERN

/* Whether the address is in the kernel's own text, not in a module's. */
static inline bool kinst_is_own_text(unsigned long addr)
{
	return addr >= kinst_addr_stext && addr < kinst_addr_etext;
}

unsigned long kinst_sym_kallsyms_lookup_name(const char *name);
int kinst_sym_kallsyms_lookup_size_offset(unsigned long addr, unsigned long *size, unsigned long *offset);
struct kprobe *kinst_sym_get_kprobe(void *addr);
unsigned long kinst_sym_ftrace_location_range(unsigned long first, unsigned long last);
const struct exception_table_entry *kinst_sym_search_exception_tables(unsigned long addr);
struct module *kinst_sym_module_text_address(unsigned long addr);
void kinst_sym_perf_event_text_poke(const void *addr, const void *old, size_t old_len, const void *new, size_t new_len);
void kinst_sym_ct_nmi_enter(void);
void kinst_sym_ct_nmi_exit(void);
struct task_struct *kinst_sym_cpu_curr_snapshot(int cpu);

#define kinst_text_mutex ((struct mutex *)kinst_addr_text_mutex)
#define kinst_kprobe_mutex ((struct mutex *)kinst_addr_kprobe_mutex)

/* The address of the first of the NULL-terminated names that exists, or 0. */
unsigned long kinst_ksym(const char *const *names);

/* Sets the size of the symbol at addr, and the offset of addr in it. False if addr is in no symbol. */
bool kinst_symbol_range(unsigned long addr, unsigned long *size, unsigned long *offset);

/* Writes the name of the symbol at addr, without offset and module, to name: at least KSYM_SYMBOL_LEN bytes. */
void kinst_symbol_name(unsigned long addr, char *name);

/* Finds all of them; -ENOENT, and a line in the log, for the first that is missing. */
int kinst_ksym_init(void);

#endif /* _KINST_KSYM_H */
