// SPDX-License-Identifier: GPL-2.0
/*
 * costs.c: tests that a hit ends with a fault when its fuel is used up, whatever its programs do; in the guest.
 *
 * Each test tries another method to make a hit long; it must end in a fault of the ECB that runs out of fuel. The time
 * with interrupts off is on stderr (BEGIN's hit is in GO, the others are in system calls): docs/SECURITY.md has such
 * figures, nothing is asserted here. Prints "ok NAME" or "FAILED NAME: why", exits with the number of failures.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "places.h"

#define OP_LDGS 41
#define VAR_STACKDEPTH 0x110
#define VAR_USTACKDEPTH 0x115
#define SUBR_PROGENYOF 11
#define SUBR_SPECULATION 10
#define ECBS 300000 /* sharing a clause */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static uint64_t errors_of(struct session *s)
{
	uint64_t errors = 0;
	uint32_t i;

	for (i = 0; i < s->ncpus; i++)
		errors += s->prod[i]->errors;
	return errors;
}

/* The number of faults for lack of fuel; -1 if there are other faults. */
static long faults_in(struct session *s)
{
	const struct kinst_rec *r;
	long faults = 0;

	while ((r = next_record(s))) {
		if (r->epid != KINST_EPID_FAULT)
			continue;
		if (((const struct kinst_fault *)(r + 1))->fault != KINST_FLT_ILLOP)
			return -1;
		faults++;
	}
	return faults;
}

/* Runs the clause in this many ECBs of BEGIN: GO must return, with a fault. */
static int ends(struct ib *b, const char *name, uint32_t clause, uint32_t ecbs)
{
	uint32_t begin = ib_probe(b, KINST_P_BEGIN, "BEGIN");
	struct session s;
	double start;
	long faults;

	while (ecbs--)
		ib_ecb(b, begin, clause);
	CHECK(!open_image(&s, b));
	start = now();
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	fprintf(stderr, "# %s: %.1f ms\n", name, now() - start);
	faults = faults_in(&s);
	CHECK(faults >= 0 && errors_of(&s) >= 1);
	close_session(&s);
	return 0;
}

static int test_counts(void)
{
	struct ib b;
	int i;

	ib_init(&b);
	for (i = 0; i < 16384; i++)
		ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	return ends(&b, "count()", ib_clause(&b, KINST_NONE, 0), ECBS);
}

static int test_constants(void)
{
	struct ib b;
	int i, difo;

	ib_init(&b);
	b.h.aggsize = 1 << 20;
	difo = ib_const(&b, 5, 8);
	for (i = 0; i < 16384; i++)
		ib_agg(&b, KINST_ACT_LLQUANTIZE, 1, 0, difo, 10ull << 48 | 17ull << 16 | 10);
	return ends(&b, "llquantize(5)", ib_clause(&b, KINST_NONE, 0), ECBS);
}

static int test_empty(void)
{
	struct ib b;

	ib_init(&b);
	return ends(&b, "nothing", ib_clause(&b, KINST_NONE, 0), ECBS);
}

static int test_keys(void)
{
	struct ib b;
	int i;

	ib_init(&b);
	b.h.aggsize = 1 << 20;
	for (i = 0; i < 8; i++) {
		ib_act(&b, KINST_ACT_STACK, KINST_NONE, 1024);
		ib_agg(&b, KINST_ACT_COUNT, 1, 1, KINST_NONE, 0);
	}
	return ends(&b, "@[stack(1024)]", ib_clause(&b, KINST_NONE, 0), ECBS);
}

/* Runs many ECBs with a DIFO that repeats the word. */
static int repeat(const char *name, uint32_t first, uint32_t word, uint64_t value)
{
	static uint32_t w[60002];
	uint32_t i, n = 0;
	struct ib b;

	w[n++] = I_SETX(0, 1);
	if (first)
		w[n++] = first;
	for (i = 0; i < 59000; i++)
		w[n++] = word;
	w[n++] = I_RET(2);
	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, w, n, &value, 1, NULL, 0, T_INT(8)), 0);
	return ends(&b, name, ib_clause(&b, KINST_NONE, 0), ECBS);
}

static int test_instructions(void)
{
	return repeat("add", 0, I_R3(7, 1, 1, 2), 1);
}

static int test_loads(void)
{
	return repeat("ldx", 0, I_R3(34, 1, 0, 2), symbol("vprintk"));
}

static int test_divisions(void)
{
	return repeat("sdiv", 0, I_R3(9, 1, 1, 2), 12345678901234567);
}

static int test_stackdepth(void)
{
	return repeat("stackdepth", 0, I_W(OP_LDGS, VAR_STACKDEPTH, 2), 1);
}

static int test_lltostr(void)
{
	return repeat("lltostr", I_PUSHV(1), I_CALL(30, 2), (uint64_t)-1);
}

/* Starts a session with this frame pointer. */
static long go_on_frames(int fd, const void *frames)
{
#ifdef __aarch64__
	register long number asm("x8") = SYS_ioctl, request asm("x1") = (long)KINST_IOC_GO, none asm("x2") = 0;
	register long ret asm("x0") = fd;

	asm volatile("stp x29, x30, [sp, #-16]!; mov x29, %[frames]; svc #0; ldp x29, x30, [sp], #16"
		     : "+r"(ret)
		     : "r"(number), "r"(request), "r"(none), [frames] "r"(frames)
		     : "memory");
#else
	long ret;

	asm volatile("push %%rbp; mov %[frames], %%rbp; syscall; pop %%rbp"
		     : "=a"(ret)
		     : "a"(SYS_ioctl), "D"((long)fd), "S"((long)KINST_IOC_GO), "d"(0), [frames] "r"(frames)
		     : "rcx", "r11", "memory");
#endif
	return ret;
}

/* A fake stack, as deep as the module walks. */
static int test_ustackdepth(void)
{
	static struct frame { void *next, *ret; } frames[600];
	static uint32_t w[60002];
	uint32_t i, n = 0, begin, clause;
	struct session s;
	double start;
	uint64_t one = 1;
	struct ib b;
	long ret;

	for (i = 0; i < 599; i++)
		frames[i] = (struct frame){ &frames[i + 1], (void *)0x1234 };
	w[n++] = I_SETX(0, 2);
	for (i = 0; i < 59000; i++)
		w[n++] = I_W(OP_LDGS, VAR_USTACKDEPTH, 2);
	w[n++] = I_RET(2);
	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, w, n, &one, 1, NULL, 0, T_INT(8)), 0);
	clause = ib_clause(&b, KINST_NONE, 0);
	begin = ib_probe(&b, KINST_P_BEGIN, "BEGIN");
	for (i = 0; i < 100; i++)
		ib_ecb(&b, begin, clause);
	CHECK(!open_image(&s, &b));
	start = now();
	ret = go_on_frames(s.fd, frames);
	fprintf(stderr, "# ustackdepth: %.1f ms\n", now() - start);
	CHECK(!ret && faults_in(&s) >= 1);
	close_session(&s);
	return 0;
}

/* Copies of this stack, of maximum size. */
static int test_copies(void)
{
	uint32_t i, begin, clause;
	struct session s;
	double start;
	struct ib b;

	ib_init(&b);
	b.h.bufsize = 32 << 20;
	for (i = 0; i < 60; i++)
		ib_act(&b, KINST_ACT_USTACK, KINST_NONE, (uint64_t)KINST_MAX_USTACK << 32 | 1);
	clause = ib_clause(&b, KINST_NONE, 0);
	begin = ib_probe(&b, KINST_P_BEGIN, "BEGIN");
	for (i = 0; i < 100; i++)
		ib_ecb(&b, begin, clause);
	CHECK(!open_image(&s, &b));
	start = now();
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	fprintf(stderr, "# copies of stacks: %.1f ms\n", now() - start);
	CHECK(faults_in(&s) >= 1);
	close_session(&s);
	return 0;
}

/* Runs in a process with n more ancestors. */
static int generations(int n)
{
	int status;
	pid_t pid;

	if (!n)
		return repeat("progenyof", I_PUSHV(1), I_CALL(SUBR_PROGENYOF, 2), 1 << 30) ? 1 : 0;
	pid = fork();
	if (!pid)
		_exit(generations(n - 1));
	return waitpid(pid, &status, 0) != pid || status;
}

static int test_progenyof(void)
{
	CHECK(!generations(200));
	return 0;
}

/* ---- speculations ---- */

#define BIG (1 << 20) /* bytes of a record */
#define RECORDS 20 /* exceeds the fuel of an ECB */

static void add_call(struct ib *b, long nr, uint32_t clause)
{
	struct kinst_probe p = { .kind = KINST_P_SYSCALL_ENTRY, .func = nr, .id = b->t[IB_PROBES].count + 1 };

	p.prov = p.mod = p.name_func = p.name = ib_str(b, "syscall");
	ib_ecb(b, ib_add(b, IB_PROBES, &p, 1), clause);
}

/* getppid() adds a record to a speculation, getuid() commits it. */
static int speculate(uint64_t bufsize, int room)
{
	uint32_t begin, id, fill[] = { I_CALL(SUBR_SPECULATION, 1), I_W(42, 0x500, 1), I_RET(1) };
	uint64_t text = symbol("vprintk") & ~0xfffull, seen = 0, drops = 0, at_once = 0;
	const struct kinst_rec *r;
	struct session s;
	double start;
	struct ib b;
	uint32_t i;
	int tries;

	stay_on(1);
	ib_init(&b);
	b.h.bufsize = bufsize;
	b.h.specsize = 32 << 20;
	b.h.nspec = 1;
	b.h.aggsize = 0;
	ib_user_var(&b, 0x500, 0, 1, T_INT(8));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, fill, 3, NULL, 0, NULL, 0, T_INT(8)), 0);
	ib_clause(&b, KINST_NONE, 0);
	id = ib_var_difo(&b, 0x500, T_INT(8));
	ib_act(&b, KINST_ACT_SPECULATE, id, 0);
	ib_act(&b, KINST_ACT_TRACEMEM, ib_const(&b, text, 8), BIG);
	ib_clause(&b, KINST_NONE, 0);
	ib_act(&b, KINST_ACT_COMMIT, id, 0);
	ib_clause(&b, KINST_NONE, 0);
	begin = ib_probe(&b, KINST_P_BEGIN, "BEGIN");
	ib_ecb(&b, begin, 0);
	add_call(&b, SYS_getppid, 1);
	add_call(&b, SYS_getuid, 2);
	CHECK(!open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	while (next_record(&s))
		;
	for (i = 0; i < RECORDS; i++)
		syscall(SYS_getppid);
	start = now();
	syscall(SYS_getuid);
	fprintf(stderr, "# commit(): %.1f ms\n", now() - start);
	for (tries = 0; tries < 200; tries++) {
		while ((r = next_record(&s))) {
			CHECK(r->epid == 2 && r->len >= BIG);
			seen++;
		}
		if (!tries)
			at_once = seen;
		drops = 0;
		for (i = 0; i < s.ncpus; i++)
			drops += s.prod[i]->drops;
		if (seen + drops == RECORDS)
			break;
		usleep(50000);
	}
	if (seen + drops != RECORDS || (room ? drops : !drops) || !seen)
		FAIL("%lu records, %lu drops, %lu at once", seen, drops, at_once);
	/* The speculation can be used again. */
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	close_session(&s);
	return 0;
}

static int test_commit(void)
{
	return speculate(64 << 20, 1);
}

static int test_commit_full(void)
{
	return speculate(8 << 20, 0);
}

/* ---- many probes at one place ---- */

#define SESSIONS 16
#define PROBES 64

static int test_crowd(void)
{
	static uint32_t w[16000];
	uint64_t func = symbol(GETPPID), one = 1;
	struct session s[SESSIONS];
	uint32_t i, k, n = 0, clause;
	struct kinst_status st;
	double start;
	struct ib b;

	w[n++] = I_SETX(0, 1);
	while (n < 15999)
		w[n++] = I_R3(7, 1, 1, 1);
	w[n++] = I_RET(1);
	stay_on(0);
	for (i = 0; i < SESSIONS; i++) {
		ib_init(&b);
		b.h.aggsize = 0;
		ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, w, n, &one, 1, NULL, 0, T_INT(8)), 0);
		clause = ib_clause(&b, KINST_NONE, 0);
		for (k = 0; k < PROBES; k++)
			add_place(&b, KINST_P_FBT_ENTRY, func, 0, clause);
		CHECK(!open_image(&s[i], &b) && !ioctl(s[i].fd, KINST_IOC_GO));
	}
	start = now();
	syscall(SYS_getppid);
	fprintf(stderr, "# %d probes of %d sessions at a place: %.1f ms\n", PROBES, SESSIONS, now() - start);
	/* The first ones have run until the fuel was used up; all others got a fault. */
	for (i = 0; i < SESSIONS; i++) {
		CHECK(!get_status(&s[i], &st) && st.hits >= PROBES);
		if (i ? i > SESSIONS / 2 && errors_of(&s[i]) < PROBES : errors_of(&s[i]))
			FAIL("session %u: %lu errors of %lu hits", i, errors_of(&s[i]), (long)st.hits);
	}
	for (i = 0; i < SESSIONS; i++)
		close_session(&s[i]);
	return 0;
}

/* costs [NAME]: runs one of the tests, or all. */
int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "counts", test_counts }, { "constants", test_constants }, { "empty", test_empty },
		{ "keys", test_keys }, { "instructions", test_instructions }, { "loads", test_loads },
		{ "divisions", test_divisions }, { "stackdepth", test_stackdepth }, { "lltostr", test_lltostr },
		{ "ustackdepth", test_ustackdepth }, { "copies", test_copies },
		{ "progenyof", test_progenyof }, { "commit", test_commit },
		{ "commit full", test_commit_full }, { "crowd", test_crowd },
	};

	size_t i, n = sizeof(tests) / sizeof(tests[0]);

	for (i = 0; argc > 1 && i < n; i++)
		if (!strcmp(argv[1], tests[i].name))
			return run_tests(&tests[i], 1);
	return run_tests(tests, n);
}
