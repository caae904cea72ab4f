// SPDX-License-Identifier: GPL-2.0
/*
 * programs.c: programs on hot probes, in the guest: thread-local variables
 * from entry to return, aggregations with string and stack keys, records, under load on all CPUs.
 *
 *   programs [ROUNDS]      default 20000 reads on each CPU
 *
 * Prints "ok NAME" or "FAILED NAME: why", exits with the number of failures.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "places.h"

#define VAR_TIMESTAMP 0x101
#define VAR_EXECNAME 0x118
#define VAR_PROBEFUNC 0x114
#define VAR_PID 0x116
#define VAR_ARG1 0x107
#define VAR_CALLER 0x111
#define VAR_T 0x500 /* self->t */
#define VAR_A 0x501 /* a[pid, execname] */
#define VAR_S 0x502 /* a global string */

static long rounds = 20000;

/* ---- parts of programs ---- */

static uint32_t place(struct ib *b, uint32_t kind, const char *func)
{
	uint32_t i = ib_probe(b, kind, kind == KINST_P_FBT_ENTRY ? "entry" : "return");
	uint32_t name = ib_str(b, func); /* moves the table, so call it before taking the pointer */
	struct kinst_probe *p = (struct kinst_probe *)b->t[IB_PROBES].mem + i;

	p->func = symbol(func);
	p->name_func = name;
	return i;
}

static uint32_t words(struct ib *b, const uint32_t *w, uint32_t n, uint64_t i0, struct kinst_dtype t)
{
	return ib_difo(b, w, n, &i0, 1, NULL, 0, t);
}

/* execname == "programs" */
static uint32_t mine(struct ib *b)
{
	static const uint32_t w[] = {
		I_W(41, VAR_EXECNAME, 1), I_SETS(1, 2), I_R3(39, 1, 2, 0), (18u << 24) | 6,
		I_R3(14, 0, 0, 3), (17u << 24) | 7, I_SETX(0, 3), I_RET(3),
	};
	static const uint64_t one[] = { 1 };

	return ib_difo(b, w, 8, one, 1, "\0programs", 10, T_INT(4));
}

static void work(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	char b[64];
	long n;

	for (n = 0; n < rounds; n++)
		if (read(fd, b, sizeof(b)) != sizeof(b))
			_exit(1);
	close(fd);
	_exit(0);
}

/* The totals of each action's entries, over the records and snapshots taken while the children work. */
struct sums {
	uint64_t records, entries, value[64]; /* by action */
	uint64_t quantized, bad;
};

static void look(struct session *s, struct sums *t)
{
	static char buf[8 << 20];
	int64_t n, at;

	while (next_record(s))
		t->records++;
	n = snap(s, buf, sizeof(buf));
	for (at = 0; at < n;) {
		struct kinst_agg_entry *e = (void *)(buf + at);
		uint64_t *last = (uint64_t *)(buf + at + e->len) - 1, *v = last - 126;

		if (e->action >= 64 || !e->len || e->len % 8) {
			t->bad++;
			break;
		}
		t->entries++;
		t->value[e->action] += *last; /* count() and sum(): the value is the last word */
		if (e->len >= 127 * 8)
			for (; v <= last; v++)
				t->quantized += *v;
		at += e->len;
	}
	t->bad += n < 0;
}

static int run_children(struct session *s, struct sums *t, void (*what)(void))
{
	uint32_t i, left = s->ncpus;
	int status, bad = 0;

	for (i = 0; i < s->ncpus; i++)
		if (!fork())
			what();
	while (left) {
		look(s, t);
		while (left && waitpid(-1, &status, WNOHANG) > 0) {
			left--;
			bad |= status;
		}
		usleep(2000);
	}
	return bad;
}

/* ---- tests ---- */

/* self->t from entry to return: every read by this test is timed, none is lost, memory is freed. */
static int test_thread_locals(void)
{
	static const uint32_t set[] = { I_W(41, VAR_TIMESTAMP, 1), I_W(45, VAR_T, 1), I_RET(0) };
	static const uint32_t get[] = { I_W(44, VAR_T, 1), I_RET(1) };
	static const uint32_t diff[] = { I_W(41, VAR_TIMESTAMP, 1), I_W(44, VAR_T, 2), I_R3(6, 1, 2, 1), I_RET(1) };
	static const uint32_t clear[] = { I_W(45, VAR_T, 0), I_RET(0) };
	struct kinst_status st;
	struct sums t = { 0 };
	struct session s;
	uint32_t entry, ret, q;
	struct ib b;

	ib_init(&b);
	b.h.dynvarsize = 4 << 20;
	ib_user_var(&b, VAR_T, 1, 1, T_INT(8));
	entry = place(&b, KINST_P_FBT_ENTRY, "vfs_read");
	ret = place(&b, KINST_P_FBT_RETURN, "vfs_read");
	ib_act(&b, KINST_ACT_DIFEXPR, words(&b, set, 3, 0, T_VOID), 0);
	ib_ecb(&b, entry, ib_clause(&b, mine(&b), 0));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, VAR_EXECNAME, T_STRING), 0);
	q = ib_agg(&b, KINST_ACT_QUANTIZE, 1, 1, words(&b, diff, 4, 0, T_INT(8)), 0);
	ib_act(&b, KINST_ACT_DIFEXPR, words(&b, clear, 2, 0, T_VOID), 0);
	ib_ecb(&b, ret, ib_clause(&b, words(&b, get, 2, 0, T_INT(8)), 0));
	if (open_image(&s, &b))
		return -1;
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	CHECK(!run_children(&s, &t, work));
	look(&s, &t);
	CHECK(!get_status(&s, &st));
	printf("# %llu timed of %llu, dynamic drops %llu dirty %llu rinsing %llu, hits %llu nested %llu\n",
	       (long long)t.quantized, (long long)rounds * s.ncpus, (long long)st.dyn_drops,
	       (long long)st.dyn_drops_dirty, (long long)st.dyn_drops_rinsing, (long long)st.hits, (long long)st.nested);
	CHECK(!t.bad && st.dblerrors == 0 && q == 2);
	CHECK(t.quantized + st.dyn_drops + st.dyn_drops_dirty + st.dyn_drops_rinsing == (uint64_t)rounds * s.ncpus);
	close_session(&s);
	return 0;
}

/* Many operations at once on hot paths: records, stacks as keys, strings stored from all CPUs, arrays. */
static int test_much(void)
{
	static const uint32_t count_up[] = { /* a[pid, execname]++ */
		I_FLUSH, I_W(41, VAR_PID, 1), I_PUSHV(1), I_W(41, VAR_EXECNAME, 2), I_PUSHS(2), I_W(52, VAR_A, 3),
		I_SETX(0, 4), I_R3(7, 3, 4, 3), I_W(54, VAR_A, 3), I_W(41, VAR_PROBEFUNC, 5), I_W(42, VAR_S, 5),
		I_W(41, VAR_S, 6), I_RET(6),
	};
	static const char *const hot[] = { "vfs_read", "vfs_write", "kmem_cache_alloc", "kmem_cache_free", "kfree",
					   "__fget_light", "security_file_permission", "rw_verify_area", "up_read",
					   "vfs_open", "dput", "mutex_lock", "mutex_unlock", "_copy_to_user" };
	struct kinst_status st;
	struct sums t = { 0 };
	struct session s;
	uint32_t i, c, n, rec, drops = 0, errors = 0;
	struct ib b;

	ib_init(&b);
	b.h.bufsize = 1 << 20;
	b.h.aggsize = 1 << 20;
	b.h.dynvarsize = 1 << 20;
	ib_user_var(&b, VAR_A, 0, 0, T_INT(8));
	ib_user_var(&b, VAR_S, 0, 1, T_STRING);
	ib_act(&b, KINST_ACT_STACK, KINST_NONE, 12);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, VAR_EXECNAME, T_STRING), 0);
	n = ib_agg(&b, KINST_ACT_COUNT, 1, 2, KINST_NONE, 0);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, VAR_CALLER, T_INT(8)), 0);
	ib_agg(&b, KINST_ACT_MAX, 2, 1, ib_var_difo(&b, VAR_ARG1, T_INT(8)), 0);
	c = ib_clause(&b, KINST_NONE, 0);
	ib_act(&b, KINST_ACT_DIFEXPR, words(&b, count_up, 13, 1, T_STRING), 0);
	ib_act(&b, KINST_ACT_USTACK, KINST_NONE, 8);
	rec = ib_clause(&b, KINST_NONE, 0);
	for (i = 0; i < sizeof(hot) / sizeof(hot[0]); i++) {
		if (!symbol(hot[i]))
			continue;
		ib_ecb(&b, place(&b, KINST_P_FBT_ENTRY, hot[i]), c);
		ib_ecb(&b, place(&b, KINST_P_FBT_RETURN, hot[i]), c);
		ib_ecb(&b, b.t[IB_PROBES].count - 1, rec);
	}
	allow_refused = 1;
	if (open_image(&s, &b))
		return -1;
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	CHECK(!run_children(&s, &t, work));
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	look(&s, &t);
	CHECK(!get_status(&s, &st));
	for (i = 0; i < s.ncpus; i++) {
		drops += s.prod[i]->drops;
		errors += s.prod[i]->errors;
	}
	printf("# hits %llu, counted %llu, records %llu, drops %u, errors %u, nested %llu, refused %d\n",
	       (long long)st.hits, (long long)t.value[n], (long long)t.records, drops, errors, (long long)st.nested,
	       refused);
	CHECK(!t.bad && st.hits > (uint64_t)rounds && t.value[n] <= st.hits);
	CHECK(t.value[n] + agg_drops >= st.hits); /* every hit is counted, or counted as a drop */
	close_session(&s);
	allow_refused = 0;
	return 0;
}

static void call_getpgid(void)
{
	long n;

	for (n = 0; n < 100; n++)
		syscall(SYS_getpgid, 0);
	_exit(0);
}

/* exit() in a clause of one probe wakes the consumer and stops the others. */
static int test_exit(void)
{
	struct kinst_status st;
	struct session s;
	struct pollfd p;
	struct ib b;

	ib_init(&b);
	ib_act(&b, KINST_ACT_EXIT, ib_const(&b, 3, 4), 0);
	ib_ecb(&b, place(&b, KINST_P_FBT_ENTRY, SYSTEM_CALL "getpgid"), ib_clause(&b, mine(&b), 0));
	if (open_image(&s, &b))
		return -1;
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	p = (struct pollfd){ .fd = s.fd, .events = POLLIN };
	CHECK(poll(&p, 1, 0) == 0);
	if (!fork()) {
		usleep(50000);
		call_getpgid();
	}
	CHECK(poll(&p, 1, 5000) == 1);
	wait(NULL);
	CHECK(!get_status(&s, &st) && st.state == KINST_STATE_DRAINING && st.exit_status == 3 && st.hits == 1);
	CHECK(next_record(&s) && !next_record(&s));
	close_session(&s);
	return 0;
}

/* Killed while its probes fire on all CPUs, many times. */
static int test_kill(void)
{
	struct session s;
	struct ib b;
	int i, status;
	pid_t pid, load;

	load = fork();
	if (!load)
		for (;;)
			syscall(SYS_getpgid, 0);
	for (i = 0; i < 10; i++) {
		pid = fork();
		if (!pid) {
			ib_init(&b);
			ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, VAR_PROBEFUNC, T_STRING), 0);
			ib_ecb(&b, place(&b, KINST_P_FBT_ENTRY, SYSTEM_CALL "getpgid"), ib_clause(&b, KINST_NONE, 0));
			ib_ecb(&b, place(&b, KINST_P_FBT_RETURN, SYSTEM_CALL "getpgid"), 0);
			if (open_image(&s, &b) || ioctl(s.fd, KINST_IOC_GO))
				_exit(1);
			for (;;)
				while (next_record(&s))
					;
		}
		usleep(50000 + 20000 * (i % 5));
		kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	}
	kill(load, SIGKILL);
	waitpid(load, &status, 0);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "thread-locals", test_thread_locals }, { "much at once", test_much }, { "exit", test_exit },
		{ "kill -9 while firing", test_kill },
	};

	if (argc > 1)
		rounds = atol(argv[1]);
	return run_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
