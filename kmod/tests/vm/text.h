/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text.h: the kernel's text, read from user space: its symbols, its live
 * instructions, its bytes; for the programs that run in a guest.
 */
#ifndef _KINST_TEXT_H
#define _KINST_TEXT_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "../../include/uapi/kinst.h"
#include "kallsyms.h"

#define MAX_INSNS 65536 /* of one function */

static inline __attribute__((noreturn)) void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(2);
}

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- reasons ---- */

/* Fill between functions and after jumps: bytes of 0xcc on x86, zeros on arm64, which are data as well. */
#define R_PADDING KINST_R_MAX

static const char *const reason_names[] = {
#define R(name) [KINST_R_##name] = #name
	[KINST_OK] = "OK",
	R(NOFUNC), R(RANGE), R(BOUNDARY), R(MISMATCH), R(BLACKLIST), R(FTRACE), R(JUMP_LABEL), R(STATIC_CALL),
	R(ALTERNATIVE), R(KPROBE), R(INIT), R(SELF), R(TRAP_PATH), R(UNDECODABLE), R(INSN_STI_HLT), R(INSN_TRAP),
	R(INSN_IRET), R(INSN_SS), R(INSN_UD), R(INSN_PRIV), R(INSN_LANDING_PAD), R(INSN_RSP), R(REACH), R(NOSLOT),
	R(FOREIGN), R(GONE), R(NOT_BRANCH), R(LIMIT), R(UNSUPPORTED), R(MODEL), R(RATE), R(NOSYSCALL), R(TRACEPOINT),
	R(NO_TRAP), R(BUSY), R(INSN_EXCLUSIVE),
#undef R
	[R_PADDING] = "PADDING",
};

_Static_assert(sizeof(reason_names) / sizeof(*reason_names) == KINST_R_MAX + 1, "a reason of the header has no name");

static inline const char *reason_name(uint32_t reason)
{
	return reason <= KINST_R_MAX && reason_names[reason] ? reason_names[reason] : "UNKNOWN";
}

/* The module's reason, except for what a compiler or a linker fills gaps with. */
static inline uint32_t reason_of(const struct kinst_insn *insn)
{
	static const unsigned char zeros[4];

	if (insn->reason == KINST_R_INSN_TRAP && insn->len == 1 && insn->bytes[0] == 0xcc)
		return R_PADDING;
	if (insn->reason == KINST_R_INSN_UD && insn->len == sizeof(zeros) && !memcmp(insn->bytes, zeros, sizeof(zeros)))
		return R_PADDING;
	return insn->reason < KINST_R_MAX ? insn->reason : KINST_R_MAX - 1;
}

/* ---- symbols ---- */

struct symbol {
	uint64_t addr;
	const char *name;
	const char *module; /* empty: the kernel itself */
	size_t next; /* the index of the next one with the same hash, or 0 */
	char type;
};

#define SYMBOL_HASHES (1 << 16)

/* From index 1 on. */
static struct symbol *symbols;
static size_t nsymbols;
static size_t symbol_heads[SYMBOL_HASHES];

static inline int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct symbol *)a)->addr, y = ((const struct symbol *)b)->addr;

	return x < y ? -1 : x > y;
}

static inline size_t *head_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return &symbol_heads[(h ^ h >> 16) % SYMBOL_HASHES];
}

/* Adds the symbol of a line, which ends with a zero byte. */
static inline void add_symbol(char *line)
{
	struct symbol s = { .module = "" };
	char *rest, *module;
	size_t *head;

	s.addr = strtoull(line, &rest, 16);
	if (*rest != ' ' || !rest[1] || rest[2] != ' ' || !rest[3])
		return;
	s.type = rest[1];
	s.name = rest + 3;
	module = strchr(rest + 3, '\t');
	if (module) {
		*module++ = '\0';
		s.module = module + (*module == '[');
		module[strcspn(module, "]")] = '\0';
	}
	head = head_of(s.name);
	s.next = *head;
	*head = ++nsymbols;
	symbols[nsymbols] = s;
}

/* Reads all symbols. */
static inline void read_symbols(void)
{
	char *text = read_kallsyms(), *line, *end;
	size_t lines = 1;

	if (!text)
		die("/proc/kallsyms");
	for (line = text; (line = strchr(line, '\n')); line++)
		lines++;
	symbols = calloc(lines + 1, sizeof(*symbols));
	if (!symbols)
		die("memory");
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		add_symbol(line);
	}
}

/* Whether the kernel has it. */
static inline int is_symbol(const char *name)
{
	size_t at;

	for (at = *head_of(name); at; at = symbols[at].next)
		if (!strcmp(symbols[at].name, name))
			return 1;
	return 0;
}

static inline uint64_t address_of(const char *name)
{
	size_t at, found = 0;

	if (!strncmp(name, "0x", 2))
		return strtoull(name, NULL, 16);
	/* The first one of the file, if there are several. */
	for (at = *head_of(name); at; at = symbols[at].next)
		if (!strcmp(symbols[at].name, name))
			found = at;
	if (!found)
		fprintf(stderr, "%s: no symbol %s\n", program_invocation_short_name, name);
	return found ? symbols[found].addr : 0;
}

/*
 * All functions by address, each address once: in the kernel's own text, or
 * (modules) in all modules except kinst. The caller frees them.
 */
static inline struct symbol *functions(int modules, size_t *count)
{
	uint64_t start = address_of("_stext"), end = address_of("_etext");
	struct symbol *list = malloc((nsymbols + 1) * sizeof(*list));
	size_t i, n = 0, unique = 0;

	for (i = 1; i <= nsymbols; i++) {
		const struct symbol *s = &symbols[i];
		int in_kernel = s->addr >= start && s->addr < end;

		if (!strchr("tTwW", s->type) || !strcmp(s->module, "kinst") || !strcmp(s->module, "bpf"))
			continue;
		/* The pages of ftrace and kprobes have symbols of modules that do not exist. */
		if (modules ? !s->module[0] || !strncmp(s->module, "__builtin", 9) : !in_kernel)
			continue;
		list[n++] = *s;
	}
	qsort(list, n, sizeof(*list), by_address);
	for (i = 0; i < n; i++)
		if (!unique || list[unique - 1].addr != list[i].addr)
			list[unique++] = list[i];
	*count = unique;
	return list;
}

/* ---- instructions ---- */

static struct kinst_insn insns[MAX_INSNS];

/* The target of a direct jump or branch, as an offset; -1: it is neither. */
static inline int64_t leads_to(const struct kinst_insn *i)
{
#ifdef __aarch64__
	uint32_t word;
	int32_t words;

	memcpy(&word, i->bytes, sizeof(word));
	if (word >> 26 == 0x05) /* b */
		words = (int32_t)(word << 6) >> 6;
	else if (word >> 25 == 0x2a || (word & 0x7e000000) == 0x34000000) /* b.cond, cbz, cbnz */
		words = (int32_t)(word << 8) >> 13;
	else if ((word & 0x7e000000) == 0x36000000) /* tbz, tbnz */
		words = (int32_t)(word << 13) >> 18;
	else
		return -1;
	return i->offset + 4 * (int64_t)words;
#else
	int64_t next = i->offset + i->len;
	int32_t rel;

	if (i->len == 2 && ((i->bytes[0] & 0xf0) == 0x70 || i->bytes[0] == 0xeb))
		return next + (signed char)i->bytes[1];
	if ((i->len == 6 && i->bytes[0] == 0x0f && (i->bytes[1] & 0xf0) == 0x80) || (i->len == 5 && i->bytes[0] == 0xe9)) {
		memcpy(&rel, i->bytes + i->len - 4, 4);
		return next + rel;
	}
	return -1;
#endif
}

/* Reads a function's instructions into insns; returns the reason against reading them, or KINST_OK. */
static inline int live(int device, uint64_t func, struct kinst_insns *info)
{
	uint32_t room;

	/* Start small: few functions are long, and the kernel allocates as much memory as is requested. */
	for (room = 1024; room <= MAX_INSNS; room *= 8) {
		*info = (struct kinst_insns){ .func = func, .buf = (uintptr_t)insns, .count = room };
		if (ioctl(device, KINST_IOC_INSNS, info))
			die("INSNS");
		if (info->count <= room)
			break;
	}
	if (info->count > MAX_INSNS)
		info->count = MAX_INSNS;
	return info->reason;
}

/* ---- bytes, through /proc/kcore ---- */

/*
 * Excludes the calls of ftrace to registered functions: our function stays registered
 * for some seconds.
 */
static inline void leave_out_ftrace(unsigned char *text, uint64_t start, uint64_t end)
{
#ifdef __x86_64__
	static const char *const calls[] = { "ftrace_call", "ftrace_regs_call" };
#else
	static const char *const calls[] = { "ftrace_call" };
#endif
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		uint64_t from = is_symbol(calls[i]) ? address_of(calls[i]) : 0, at;

		for (at = from; at < from + 5; at++)
			if (at >= start && at < end)
				text[at - start] = 0;
	}
}

/* Reads [start, end), which lies in one segment; the caller frees it. */
static inline unsigned char *read_text(uint64_t start, uint64_t end)
{
	int fd = open("/proc/kcore", O_RDONLY), i;
	unsigned char *text = malloc(end - start);
	uint64_t done = 0;
	Elf64_Phdr ph[64];
	Elf64_Ehdr eh;

	if (fd < 0 || read(fd, &eh, sizeof(eh)) != sizeof(eh) || eh.e_phnum > 64)
		die("/proc/kcore");
	if (pread(fd, ph, sizeof(*ph) * eh.e_phnum, eh.e_phoff) < 0)
		die("/proc/kcore");
	for (i = 0; i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && start >= ph[i].p_vaddr && end <= ph[i].p_vaddr + ph[i].p_memsz)
			break;
	errno = ENOENT;
	while (done < end - start) {
		ssize_t n = i == eh.e_phnum ? -1 :
			pread(fd, text + done, end - start - done, ph[i].p_offset + start - ph[i].p_vaddr + done);

		if (n <= 0)
			die("the text in /proc/kcore");
		done += n;
	}
	close(fd);
	leave_out_ftrace(text, start, end);
	return text;
}

static inline uint64_t checksum(const unsigned char *text, uint64_t len)
{
	uint64_t h = 1469598103934665603ull, word, i;

	for (i = 0; i < len; i += sizeof(word)) {
		word = 0;
		memcpy(&word, text + i, len - i < sizeof(word) ? len - i : sizeof(word));
		h = (h ^ word) * 1099511628211ull;
		h = h << 29 | h >> 35;
	}
	return h;
}

#endif /* _KINST_TEXT_H */
