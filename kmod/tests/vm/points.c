// SPDX-License-Identifier: GPL-2.0
/*
 * points.c: a tool that arms places in the kernel by hand and counts the hits, in the guest.
 *
 *   points [-q] [-n N] [-t] count KIND[:OFFSET[:TO]] FUNCTION... -- COMMAND...
 *       arms, runs the command, disarms; prints "FUNCTION+OFFSET COUNT" for each
 *       probe that was armed (-q: only the sums) and "armed A of B, hits H". No more than N probes.
 *       -t: each hit reads the clock, by a predicate.
 *       KIND is all (every instruction that can be traced), sparse:N:P (the P-th of
 *       these and every N-th after it), insn, edge, edges (every conditional branch:
 *       itself, taken, not taken), entry or return.
 *       A FUNCTION of - reads more names from standard input.
 *   points reason KIND:OFFSET[:TO] FUNCTION   prints the reason, as a number
 *   points list FUNCTION                      prints the live instructions
 *   points colds N                            prints up to N cold parts with an exit that a jump on the preceding
 *                                             instruction could cover: FUNCTION OFFSET, of that instruction
 *   points settle                             waits until every breakpoint that can be a jump is one; prints the number
 *   points sum                                a checksum of the kernel's text
 *   points report [modules]                   how many instructions and bytes of the kernel (of the loaded
 *                                             modules) can be traced, and the counts of the others by reason
 *   points hold KIND FUNCTION...              arms and sleeps until it is killed
 *
 * Counting is @[epid] = count(): one clause, one ECB for each probe.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include "text.h"
#include "../image_builder.h"

#define VAR_EPID 0x0104
#define VAR_TIMESTAMP 0x0101
#define MAX_PROBES 131072

static struct kinst_probe probes[MAX_PROBES];
static struct kinst_result results[MAX_PROBES];
static uint64_t counts[MAX_PROBES];
static const char *names[MAX_PROBES];
static uint32_t nprobes, most = MAX_PROBES;
static int device, timed;

/* ---- probes ---- */

static void add(const char *name, uint64_t func, uint32_t kind, uint32_t offset, uint32_t to)
{
	if (nprobes == most)
		return;
	probes[nprobes] = (struct kinst_probe){ .kind = kind, .func = func, .offset = offset, .to = to };
	names[nprobes++] = name;
}

/* How far a conditional branch goes, from its own address; 0 if it is of no known kind. */
#ifdef __aarch64__
static int64_t branch_reach(const struct kinst_insn *b)
{
	uint32_t insn;

	memcpy(&insn, b->bytes, sizeof(insn));
	if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000) /* b.cond, cbz */
		return (int32_t)(insn << 8) >> 13 << 2;
	if ((insn & 0x7e000000) == 0x36000000) /* tbz */
		return (int32_t)(insn << 13) >> 18 << 2;
	return 0;
}
#else
static int64_t branch_reach(const struct kinst_insn *b)
{
	int32_t rel;

	if (b->len == 2)
		return b->len + (signed char)b->bytes[1];
	if (b->len != 6 || b->bytes[0] != 0x0f)
		return 0;
	memcpy(&rel, b->bytes + 2, sizeof(rel));
	return b->len + (int64_t)rel;
}
#endif

/* Three probes for each branch inside the function: the instruction, and its two edges. */
static void add_edges(const char *name, uint64_t func, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		const struct kinst_insn *b = &insns[i];
		int64_t reach = branch_reach(b);

		if (!(b->flags & KINST_INSN_BRANCH) || b->reason || (b->flags & KINST_INSN_TAIL) || !reach)
			continue;
		add(name, func, KINST_P_INSN, b->offset, 0);
		add(name, func, KINST_P_EDGE, b->offset, b->offset + reach);
		add(name, func, KINST_P_EDGE, b->offset, b->offset + b->len);
	}
}

static void add_kind(const char *kind, const char *name)
{
	uint64_t func = address_of(name);
	uint32_t offset = 0, to = 0, i;
	const char *colon = strchr(kind, ':');
	struct kinst_insns info;

	if (!func)
		return;
	if (colon) {
		offset = strtoul(colon + 1, (char **)&colon, 0);
		if (*colon == ':')
			to = strtoul(colon + 1, NULL, 0);
	}
	if (!strncmp(kind, "insn", 4)) {
		add(name, func, KINST_P_INSN, offset, 0);
	} else if (!strcmp(kind, "edges")) {
		if (!live(device, func, &info))
			add_edges(name, func, info.count);
	} else if (!strncmp(kind, "edge", 4)) {
		add(name, func, KINST_P_EDGE, offset, to);
	} else if (!strncmp(kind, "entry", 5)) {
		add(name, func, KINST_P_FBT_ENTRY, 0, 0);
	} else if (!strncmp(kind, "return", 6)) {
		add(name, func, KINST_P_FBT_RETURN, 0, 0);
	} else if (!strncmp(kind, "sparse", 6)) {
		if (live(device, func, &info))
			return;
		for (i = to; offset && i < info.count; i += offset)
			if (!insns[i].reason)
				add(name, func, KINST_P_INSN, insns[i].offset, 0);
	} else if (!strncmp(kind, "all", 3)) {
		if (live(device, func, &info))
			return;
		for (i = 0; i < info.count; i++)
			if (!insns[i].reason)
				add(name, func, KINST_P_INSN, insns[i].offset, 0);
	} else {
		fprintf(stderr, "points: unknown kind %s\n", kind);
		exit(2);
	}
}

/* Returns how long the kernel took. */
static double load(void)
{
	struct kinst_load l = { 0 };
	double begin;
	struct ib b;
	uint32_t key, clause, i;
	void *image;

	ib_init(&b);
	b.h.aggsize = (uint64_t)nprobes * 64 + 65536;
	key = ib_var_difo(&b, VAR_EPID, T_INT(4));
	ib_act(&b, KINST_ACT_DIFEXPR, key, 0);
	ib_agg(&b, KINST_ACT_COUNT, 1, 1, KINST_NONE, 0);
	clause = ib_clause(&b, timed ? ib_var_difo(&b, VAR_TIMESTAMP, T_INT(8)) : KINST_NONE, 0);
	for (i = 0; i < nprobes; i++) {
		probes[i].id = i + 1;
		ib_add(&b, IB_PROBES, &probes[i], 1);
		ib_ecb(&b, i, clause);
	}
	image = ib_finish(&b, &l.image_len);
	l.image = (uintptr_t)image;
	l.results = (uintptr_t)results;
	l.nresults = nprobes;
	begin = now();
	if (ioctl(device, KINST_IOC_LOAD, &l)) {
		fprintf(stderr, "points: LOAD: %s, code %u difo %d index %d\n", strerror(errno), l.error.code,
			(int)l.error.difo, (int)l.error.index);
		exit(2);
	}
	begin = now() - begin;
	free(image);
	return begin;
}

/* Adds up the aggregation of all CPUs: the key is the EPID, which is the probe's index + 1. */
static void snapshot(void)
{
	struct kinst_info info;
	uint32_t size = nprobes * 64 + 65536, cpu, at;
	char *buf = malloc(size);

	if (ioctl(device, KINST_IOC_INFO, &info))
		die("INFO");
	for (cpu = 0; cpu < info.ncpus; cpu++) {
		struct kinst_aggsnap snap = { .buf = (uintptr_t)buf, .size = size, .cpu = cpu };

		if (ioctl(device, KINST_IOC_AGGSNAP, &snap))
			continue;
		if (snap.drops)
			printf("drops %llu\n", (unsigned long long)snap.drops);
		for (at = 0; at < snap.used;) {
			struct kinst_agg_entry *e = (void *)(buf + at);
			uint32_t epid;
			uint64_t value;

			memcpy(&epid, e + 1, 4);
			memcpy(&value, (char *)e + e->len - 8, 8);
			if (epid >= 1 && epid <= nprobes)
				counts[epid - 1] += value;
			at += e->len;
		}
	}
	free(buf);
}

static int run(char **command)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(command[0], command);
		die(command[0]);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void report(int quiet)
{
	struct kinst_status st;
	uint64_t hits = 0;
	uint32_t armed = 0, i;

	for (i = 0; i < nprobes; i++) {
		armed += !results[i].reason;
		hits += counts[i];
		if (quiet)
			continue;
		printf("%s+%#x", names[i], probes[i].offset);
		if (probes[i].kind == KINST_P_EDGE)
			printf("->%#x", probes[i].to);
		if (results[i].reason)
			printf(" refused %u\n", results[i].reason);
		else
			printf(" %llu\n", (unsigned long long)counts[i]);
	}
	if (ioctl(device, KINST_IOC_STATUS, &st))
		die("STATUS");
	printf("armed %u of %u, hits %llu, nested %llu\n", armed, nprobes, (unsigned long long)hits,
	       (unsigned long long)st.nested);
}

static char *copy(const char *s)
{
	return strdup(s);
}

static char **add_all(const char *kind, char **arg)
{
	char line[512];

	for (; *arg && strcmp(*arg, "--"); arg++) {
		if (strcmp(*arg, "-")) {
			add_kind(kind, *arg);
			continue;
		}
		while (fgets(line, sizeof(line), stdin)) {
			line[strcspn(line, "\n")] = '\0';
			add_kind(kind, copy(line));
		}
	}
	return *arg ? arg + 1 : arg;
}

static int count(int quiet, const char *kind, char **arg)
{
	char **command = add_all(kind, arg);
	double arm = load(), begin, release;
	int status;

	if (ioctl(device, KINST_IOC_GO))
		die("GO");
	status = run(command);
	begin = now();
	if (ioctl(device, KINST_IOC_STOP))
		die("STOP");
	release = now() - begin;
	snapshot();
	report(quiet);
	fprintf(stderr, "points: %u probes armed in %.3f s, released in %.3f s\n", nprobes, arm, release);
	return status;
}

static __attribute__((noreturn)) int hold(const char *kind, char **arg)
{
	add_all(kind, arg);
	load();
	if (ioctl(device, KINST_IOC_GO))
		die("GO");
	report(1);
	printf("held\n");
	fflush(stdout);
	for (;;) {
		struct kinst_status st;

		sleep(1);
		ioctl(device, KINST_IOC_STATUS, &st);
	}
}

/* The last instruction before an exit, if both fit under a jump and it can be traced. */
static int64_t before_exit(const struct kinst_insns *info)
{
	uint32_t i;

	for (i = 0; i + 1 < info->count; i++) {
		const struct kinst_insn *a = &insns[i], *exit = &insns[i + 1];

		/* A short return is followed by padding, which may be covered. */
		if (exit->flags & KINST_INSN_RET && !a->reason && !exit->reason && a->len < 5)
			return a->offset;
	}
	return -1;
}

static int colds(unsigned long most)
{
	struct kinst_insns info;
	struct symbol *list;
	size_t n, i;
	int64_t at;

	list = functions(0, &n);
	for (i = 0; i < n && most; i++) {
		size_t len = strlen(list[i].name);

		if (len < 5 || strcmp(list[i].name + len - 5, ".cold") || live(device, list[i].addr, &info))
			continue;
		at = before_exit(&info);
		if (at < 0)
			continue;
		printf("%.*s %lld\n", (int)len - 5, list[i].name, (long long)at);
		most--;
	}
	free(list);
	return 0;
}

static int settle(void)
{
	struct kinst_settled settled;

	if (ioctl(device, KINST_IOC_SETTLE, &settled))
		die("SETTLE");
	printf("%u\n", settled.jumps);
	return 0;
}

/* ---- the kernel's text ---- */

static int sum(void)
{
	uint64_t start = address_of("_stext"), end = address_of("_etext");

	printf("%016llx\n", (unsigned long long)checksum(read_text(start, end), end - start));
	return 0;
}

static int list(const char *name)
{
	struct kinst_insns info;
	uint32_t i, j;

	if (live(device, address_of(name), &info)) {
		printf("refused %u\n", info.reason);
		return 0;
	}
	printf("size %#x, %u instructions\n", info.size, info.count);
	for (i = 0; i < info.count; i++) {
		printf("+%#x %u %x ", insns[i].offset, insns[i].reason, insns[i].flags);
		for (j = 0; j < insns[i].len; j++)
			printf("%02x", insns[i].bytes[j]);
		printf("\n");
	}
	return 0;
}

/* How much of the functions can be traced, and why the rest cannot: in instructions, bytes and whole functions. */
struct tally {
	uint64_t functions, insns, bytes;
	uint64_t by_reason[KINST_R_MAX + 1], bytes_by_reason[KINST_R_MAX + 1], whole[KINST_R_MAX + 1];
};

static void tally_function(struct tally *t, uint64_t func)
{
	struct kinst_insns info;
	uint32_t reason, j;

	t->functions++;
	reason = live(device, func, &info);
	if (reason) {
		t->whole[reason < KINST_R_MAX ? reason : KINST_R_MAX - 1]++;
		return;
	}
	for (j = 0; j < info.count; j++) {
		reason = reason_of(&insns[j]);
		t->insns++;
		t->bytes += insns[j].len;
		t->by_reason[reason]++;
		t->bytes_by_reason[reason] += insns[j].len;
	}
}

/* Reports on the kernel's own text or on modules: functions at one address count once. */
static int report_all(int modules)
{
	struct tally t = { 0 };
	struct symbol *list;
	double t0 = now();
	size_t n, i;

	list = functions(modules, &n);
	for (i = 0; i < n; i++)
		tally_function(&t, list[i].addr);
	free(list);
	printf("functions %llu, instructions %llu, bytes %llu, text %llu\n", (unsigned long long)t.functions,
	       (unsigned long long)t.insns, (unsigned long long)t.bytes,
	       modules ? 0 : (unsigned long long)(address_of("_etext") - address_of("_stext")));
	for (i = 0; i <= KINST_R_MAX; i++)
		if (t.by_reason[i] || t.whole[i])
			printf("%s %llu instructions, %llu bytes, %llu functions as a whole\n", reason_name(i),
			       (unsigned long long)t.by_reason[i], (unsigned long long)t.bytes_by_reason[i],
			       (unsigned long long)t.whole[i]);
	fprintf(stderr, "points: read in %.3f s\n", now() - t0);
	return 0;
}

int main(int argc, char **argv)
{
	int quiet = 0, c;

	while ((c = getopt(argc, argv, "+qn:t")) != -1) {
		switch (c) {
		case 'q': quiet = 1; break;
		case 'n': most = strtoul(optarg, NULL, 0); break;
		case 't': timed = 1; break;
		default: return 2;
		}
	}
	if (most > MAX_PROBES)
		most = MAX_PROBES;
	argc -= optind - 1;
	argv += optind - 1;
	read_symbols();
	if (argc == 2 && !strcmp(argv[1], "sum"))
		return sum();
	device = open(KINST_DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0)
		die(KINST_DEVICE);
	if (argc == 3 && !strcmp(argv[1], "colds"))
		return colds(strtoul(argv[2], NULL, 0));
	if (argc == 2 && !strcmp(argv[1], "settle"))
		return settle();
	if (argc > 3 && !strcmp(argv[1], "count"))
		return count(quiet, argv[2], argv + 3);
	if (argc > 3 && !strcmp(argv[1], "hold"))
		return hold(argv[2], argv + 3);
	if (argc >= 2 && !strcmp(argv[1], "report"))
		return report_all(argc == 3 && !strcmp(argv[2], "modules"));
	if (argc == 3 && !strcmp(argv[1], "list"))
		return list(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "reason")) {
		add_kind(argv[2], argv[3]);
		if (!nprobes)
			return 2;
		load();
		printf("%s %s %u", argv[3], argv[2], results[0].reason);
		if (results[0].reason == KINST_R_BOUNDARY)
			printf(" between %#x and %#x", results[0].prev, results[0].next);
		printf("\n");
		return 0;
	}
	fprintf(stderr, "usage: see the source\n");
	return 2;
}
