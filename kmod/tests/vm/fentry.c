// SPDX-License-Identifier: GPL-2.0
/*
 * fentry.c: a BPF program at the entry or exit of kernel functions, in the guest. It does nothing: only the code that
 * the kernel runs before and after it matters.
 *
 *   fentry entry|exit FUNCTION... -- COMMAND...     attaches, prints their count, runs the command, exits
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *btf;

static int read_btf(void)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY);
	struct stat st;
	ssize_t n;
	off_t at;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	btf = malloc(st.st_size);
	for (at = 0; btf && at < st.st_size; at += n) {
		n = read(fd, btf + at, st.st_size - at);
		if (n <= 0)
			return -1;
	}
	close(fd);
	return btf ? 0 : -1;
}

/* The size of the data after the record of a type. */
static size_t rest(const struct btf_type *t)
{
	size_t n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT: case BTF_KIND_VAR: case BTF_KIND_DECL_TAG: return 4;
	case BTF_KIND_ARRAY: return sizeof(struct btf_array);
	case BTF_KIND_STRUCT: case BTF_KIND_UNION: return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM: return n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64: return n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO: return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC: return n * sizeof(struct btf_var_secinfo);
	default: return 0;
	}
}

/* The id of the function's type, or 0. */
static unsigned int type_of(const char *name)
{
	const struct btf_header *h = (void *)btf;
	const char *strings = btf + h->hdr_len + h->str_off, *at = btf + h->hdr_len + h->type_off;
	const char *end = at + h->type_len;
	unsigned int id;

	for (id = 1; at < end; id++) {
		const struct btf_type *t = (void *)at;

		if (BTF_INFO_KIND(t->info) == BTF_KIND_FUNC && !strcmp(strings + t->name_off, name))
			return id;
		at += sizeof(*t) + rest(t);
	}
	return 0;
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int attach(const char *name, int exits)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = exits ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY,
		.insns = (uintptr_t)nothing,
		.insn_cnt = 2,
		.license = (uintptr_t)"GPL",
		.attach_btf_id = type_of(name),
	};
	int prog;

	if (!attr.attach_btf_id)
		return -1;
	prog = bpf(BPF_PROG_LOAD, &attr);
	if (prog < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.prog_fd = prog;
	return bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

int main(int argc, char **argv)
{
	int exits = argc > 1 && !strcmp(argv[1], "exit"), i, n = 0;

	if (argc < 4 || read_btf()) {
		fprintf(stderr, "fentry entry|exit FUNCTION... -- COMMAND...\n");
		return 2;
	}
	for (i = 2; i < argc && strcmp(argv[i], "--"); i++) {
		if (attach(argv[i], exits) < 0)
			perror(argv[i]);
		else
			n++;
	}
	printf("attached to %d\n", n);
	fflush(stdout);
	return i + 1 < argc && system(argv[i + 1]) ? 1 : 0;
}
