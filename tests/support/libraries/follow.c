/*
 * follow.c: a plugin for QEMU's user mode that counts hits. `-plugin follow.so,sites=FILE,hits=FILE`: sites.h describes
 * the lines of the first file, the second one gets a number for each.
 */
#include <stddef.h>
#include <stdint.h>

#include "../sites.h"

/* The part of QEMU's interface that is used here; QEMU's package does not contain the header. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
#ifndef INTERFACE
#define INTERFACE 1
#endif
#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = INTERFACE;
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(uint64_t id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*executed)(unsigned cpu, void *),
					    int flags, void *argument);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*ended)(uint64_t id, void *), void *argument);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);

struct insn {
	unsigned long address;
	int first; /* the first site that can be hit there, or 0 */
	int calls;
};
static const struct insn nothing, *before = &nothing;
static const char *output;

static void executed(unsigned cpu, void *argument)
{
	const struct insn *insn = argument;
	int i;

	(void)cpu;
	for (i = insn->first; i; i = sites[i].next)
		if (hits(&sites[i], before->address, insn->address) ||
		    (sites[i].kind && sites[i].from == insn->address && before->calls))
			sites[i].hits++;
	before = insn;
}

static void translated(uint64_t id, struct qemu_plugin_tb *block)
{
	size_t n;

	(void)id;
	for (n = 0; n < qemu_plugin_tb_n_insns(block); n++) {
		struct qemu_plugin_insn *at = qemu_plugin_tb_get_insn(block, n);
		struct insn *insn = calloc(1, sizeof(*insn));
		int i;

		insn->address = qemu_plugin_insn_vaddr(at);
		insn->calls = is_call(qemu_plugin_insn_data(at));
		for (i = heads[hash(insn->address)]; i && !insn->first; i = sites[i].next)
			if (end_of(&sites[i]) == insn->address)
				insn->first = i;
		qemu_plugin_register_vcpu_insn_exec_cb(at, executed, 0, insn);
	}
}

static void ended(uint64_t id, void *argument)
{
	FILE *f = fopen(output, "w");
	int i;

	(void)id;
	(void)argument;
	for (i = 1; f && i <= nsites; i++)
		fprintf(f, "%lu\n", sites[i].hits);
	if (!f || fclose(f))
		abort();
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments)
{
	int i;

	(void)info;
	for (i = 0; i < count; i++) {
		if (!strncmp(arguments[i], "sites=", 6))
			read_sites(arguments[i] + 6);
		if (!strncmp(arguments[i], "hits=", 5))
			output = strdup(arguments[i] + 5);
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return !output;
}
