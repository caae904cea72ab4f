// SPDX-License-Identifier: GPL-2.0
/*
 * session.c: the life cycle of a session of /dev/dtrace/kinst, with hand-made images, in the guest.
 *
 * Prints "ok NAME" or "FAILED NAME: why" for each test, "N passed, N failed" at
 * the end; exits with the number of failures. Needs root, kinst.ko loaded and
 * devtmpfs on /dev. Static, so that an initramfs needs only this and a shell.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include "driver.h"

/* ---- tests ---- */

/* BEGIN and END record an int, a string, a double word; exit() in BEGIN; records have the specified layout. */
static int test_records(void)
{
	struct session s;
	struct kinst_status st;
	const struct kinst_rec *r;
	const char *p;
	struct ib b;

	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 7, 1), 0);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 0x1234567890, 4), 0);
	ib_act(&b, KINST_ACT_PRINTF, ib_string(&b, "hello"), 1);
	ib_act(&b, KINST_ACT_PRINTF, ib_var_difo(&b, 0x116, T_INT(8)), 0); /* pid */
	ib_act(&b, KINST_ACT_EXIT, ib_const(&b, 42, 4), 0);
	ib_ecb(&b, ib_probe(&b, KINST_P_BEGIN, "BEGIN"), ib_clause(&b, KINST_NONE, 0));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x115, T_STRING), 0); /* probename */
	ib_ecb(&b, ib_probe(&b, KINST_P_END, "END"), ib_clause(&b, KINST_NONE, 0));
	if (open_image(&s, &b))
		return -1;
	CHECK(!next_record(&s));
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	CHECK(ioctl(s.fd, KINST_IOC_GO) && errno == EINVAL);
	CHECK(!get_status(&s, &st) && st.state == KINST_STATE_DRAINING && st.exit_status == 42 && st.hits == 1);
	r = next_record(&s);
	CHECK(r && r->epid == 1 && r->len == 16 + 8 + 256 + 8 + 8 && r->timestamp);
	p = (void *)(r + 1);
	CHECK(p[0] == 7 && *(uint32_t *)(p + 4) == 0x34567890 && !strcmp(p + 8, "hello"));
	CHECK(*(uint64_t *)(p + 264) == (uint64_t)getpid() && *(uint32_t *)(p + 272) == 42);
	CHECK(!next_record(&s));
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	r = next_record(&s);
	CHECK(r && r->epid == 2 && !strcmp((char *)(r + 1), "END"));
	CHECK(!get_status(&s, &st) && st.state == KINST_STATE_STOPPED && st.exit_status == 42 && st.hits == 2);
	close_session(&s);
	return 0;
}

/* count, sum, quantize with keys; a snapshot removes the entries that it returns. */
static int test_aggregations(void)
{
	static char buf[1 << 20];
	struct session s;
	struct ib b;
	int64_t n, at;
	int seen = 0;

	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_string(&b, "key"), 0);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 5, 4), 0);
	ib_agg(&b, KINST_ACT_COUNT, 1, 2, KINST_NONE, 0);
	ib_agg(&b, KINST_ACT_SUM, 2, 0, ib_const(&b, 10, 8), 0);
	ib_agg(&b, KINST_ACT_QUANTIZE, 3, 0, ib_const(&b, 1000, 8), 0);
	ib_agg(&b, KINST_ACT_SUM, 2, 0, ib_const(&b, 32, 8), 0);
	ib_ecb(&b, ib_probe(&b, KINST_P_BEGIN, "BEGIN"), ib_clause(&b, KINST_NONE, 0));
	if (open_image(&s, &b))
		return -1;
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	CHECK(!next_record(&s)); /* aggregations record nothing */
	n = snap(&s, buf, sizeof(buf));
	CHECK(n > 0);
	for (at = 0; at < n; at += ((struct kinst_agg_entry *)(buf + at))->len) {
		struct kinst_agg_entry *e = (void *)(buf + at);
		char *key = (char *)(e + 1);
		uint64_t *v = (void *)key;

		if (e->action == 2) {
			CHECK(e->len == 8 + 264 + 8 && !strcmp(key, "key") && *(uint32_t *)(key + 256) == 5);
			CHECK(v[33] == 1);
		} else if (e->action == 3) {
			CHECK(e->len == 16 && v[0] == 42);
		} else if (e->action == 4) {
			CHECK(e->len == 8 + 127 * 8 && v[63 + 10] == 1);
		} else {
			FAIL("entry of action %u", e->action);
		}
		seen++;
	}
	CHECK(at == n && seen == 3);
	CHECK(snap(&s, buf, sizeof(buf)) == 0);
	close_session(&s);
	return 0;
}

/* Globals, locals, thread-locals and arrays with int and string keys live from BEGIN to END; 0 frees. */
static int test_variables(void)
{
	/* x = 3; self->t = 4; a["k"] = 5; s = "str"; b[1] = 9; b[1] = 0 */
	static const uint64_t ints[] = { 3, 4, 5, 9, 1, 0 };
	static const uint32_t set[] = {
		I_SETX(0, 1), I_W(42, 0x500, 1), I_SETX(1, 1), I_W(45, 0x500, 1),
		I_FLUSH, I_SETS(1, 2), I_PUSHS(2), I_SETX(2, 1), I_W(54, 0x501, 1),
		I_SETS(3, 1), I_W(42, 0x502, 1),
		I_FLUSH, I_SETX(4, 2), I_PUSHV(2), I_SETX(3, 1), I_W(54, 0x503, 1), I_W(54, 0x503, 0),
		I_RET(0),
	};
	/* x + self->t * 10 + a["k"] * 100 + b[1] * 1000 */
	static const uint64_t tens[] = { 10, 100, 1000, 1 };
	static const uint32_t get[] = {
		I_W(41, 0x500, 1),
		I_W(44, 0x500, 2), I_SETX(0, 3), I_R3(8, 2, 3, 2), I_R3(7, 1, 2, 1),
		I_FLUSH, I_SETS(1, 2), I_PUSHS(2), I_W(52, 0x501, 2), I_SETX(1, 3), I_R3(8, 2, 3, 2), I_R3(7, 1, 2, 1),
		I_FLUSH, I_SETX(3, 2), I_PUSHV(2), I_W(52, 0x503, 2), I_SETX(2, 3), I_R3(8, 2, 3, 2), I_R3(7, 1, 2, 1),
		I_RET(1),
	};
	static const uint32_t get_s[] = { I_W(41, 0x502, 1), I_RET(1) };
	const struct kinst_rec *r;
	struct session s;
	struct ib b;

	ib_init(&b);
	ib_user_var(&b, 0x500, 0, 1, T_INT(8));
	ib_user_var(&b, 0x501, 0, 0, T_INT(4));
	ib_user_var(&b, 0x502, 0, 1, T_STRING);
	ib_user_var(&b, 0x503, 0, 0, T_INT(8));
	ib_user_var(&b, 0x500, 1, 1, T_INT(8));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, set, 18, ints, 6, "\0k\0str", 7, T_VOID), 0);
	ib_ecb(&b, ib_probe(&b, KINST_P_BEGIN, "BEGIN"), ib_clause(&b, KINST_NONE, 0));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, get, 20, tens, 4, "\0k", 3, T_INT(8)), 0);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, get_s, 2, NULL, 0, NULL, 0, T_STRING), 0);
	ib_ecb(&b, ib_probe(&b, KINST_P_END, "END"), ib_clause(&b, KINST_NONE, 0));
	if (open_image(&s, &b))
		return -1;
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	r = next_record(&s);
	CHECK(r && r->epid == 2);
	if (*(uint64_t *)(r + 1) != 543)
		FAIL("got %llu", *(unsigned long long *)(r + 1));
	CHECK(!strcmp((char *)(r + 1) + 8, "str"));
	close_session(&s);
	return 0;
}

/* A bad load in BEGIN: its record is dropped, a fault is recorded, ERROR gets the five arguments, the next ECB runs. */
static int test_faults(void)
{
	static const uint64_t bad[] = { 16 };
	static const uint32_t load[] = { I_SETX(0, 1), I_R3(34, 1, 0, 2), I_RET(2) };
	const struct kinst_rec *r;
	const struct kinst_fault *f;
	const uint64_t *v;
	struct kinst_status st;
	struct session s;
	struct ib b;
	uint32_t begin, i;

	ib_init(&b);
	begin = ib_probe(&b, KINST_P_BEGIN, "BEGIN");
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 1, 8), 0);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, load, 3, bad, 1, NULL, 0, T_INT(8)), 0);
	ib_ecb(&b, begin, ib_clause(&b, KINST_NONE, 0));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 2, 8), 0);
	ib_ecb(&b, begin, ib_clause(&b, KINST_NONE, 0));
	for (i = 1; i <= 5; i++)
		ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x106 + i, T_INT(8)), 0);
	ib_ecb(&b, ib_probe(&b, KINST_P_ERROR, "ERROR"), ib_clause(&b, KINST_NONE, 0));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, load, 3, bad, 1, NULL, 0, T_INT(8)), 0);
	ib_ecb(&b, 1, ib_clause(&b, KINST_NONE, 0)); /* a fault inside ERROR */
	if (open_image(&s, &b))
		return -1;
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	r = next_record(&s);
	CHECK(r && r->epid == KINST_EPID_FAULT);
	f = (void *)(r + 1);
	CHECK(f->epid == 1 && f->action == 2 && f->offset == 4 && f->fault == KINST_FLT_BADADDR && f->value == 16);
	r = next_record(&s);
	CHECK(r && r->epid == 3);
	v = (void *)(r + 1);
	CHECK(v[0] == 1 && v[1] == 2 && v[2] == 4 && v[3] == KINST_FLT_BADADDR && v[4] == 16);
	r = next_record(&s);
	CHECK(r && r->epid == 2 && *(uint64_t *)(r + 1) == 2);
	CHECK(!next_record(&s));
	CHECK(!get_status(&s, &st) && st.dblerrors == 1 && st.state == KINST_STATE_ACTIVE);
	close_session(&s);
	return 0;
}

/* stack() in BEGIN is the call chain of the ioctl; the built-ins agree with the system. */
static int test_builtins(void)
{
	const struct kinst_rec *r;
	const uint64_t *v;
	struct session s;
	struct timespec ts;
	struct ib b;
	uint64_t now;

	ib_init(&b);
	ib_act(&b, KINST_ACT_STACK, KINST_NONE, 8);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x101, T_INT(8)), 0); /* timestamp */
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x102, T_INT(8)), 0); /* vtimestamp */
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x11a, T_INT(8)), 0); /* walltimestamp */
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x11d, T_INT(8)), 0); /* ppid */
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x11e, T_INT(8)), 0); /* uid */
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x118, T_STRING), 0); /* execname */
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x121, T_STRING), 0); /* execargs */
	ib_act(&b, KINST_ACT_USTACK, KINST_NONE, 4);
	ib_ecb(&b, ib_probe(&b, KINST_P_BEGIN, "BEGIN"), ib_clause(&b, KINST_NONE, 0));
	if (open_image(&s, &b))
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	r = next_record(&s);
	CHECK(r);
	v = (void *)(r + 1);
	printf("# stack %llx %llx %llx %llx, vtimestamp %llu\n", (long long)v[0], (long long)v[1], (long long)v[2],
	       (long long)v[3], (long long)v[9]);
	CHECK(v[0] >> 47 == 0x1ffff && v[1] >> 47 == 0x1ffff && v[0] != v[1]);
	CHECK(r->timestamp == v[8] && v[8] >= now && v[8] < now + 1000000000);
	CHECK(v[9] && v[9] < v[8]);
	clock_gettime(CLOCK_REALTIME, &ts);
	CHECK(v[10] / 1000000000 <= (uint64_t)ts.tv_sec && v[10] / 1000000000 + 2 > (uint64_t)ts.tv_sec);
	CHECK(v[11] == (uint64_t)getppid() && v[12] == 0);
	CHECK(!strcmp((char *)&v[13], "session"));
	if (!strstr((char *)&v[13] + 256, "session one two"))
		FAIL("execargs: %s", (char *)&v[13] + 256);
	CHECK(v[13 + 64] == (uint64_t)getpid() && v[13 + 65]);
	close_session(&s);
	return 0;
}

/* A full ring counts drops, and the records that fit are whole; wraps around twice, with padding. */
static int test_ring(void)
{
	struct session s;
	struct ib b;
	uint32_t begin, i, n = 0, drops = 0;

	ib_init(&b);
	b.h.bufsize = 4096;
	begin = ib_probe(&b, KINST_P_BEGIN, "BEGIN");
	ib_act(&b, KINST_ACT_DIFEXPR, ib_string(&b, "0123456789"), 0);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 1, 8), 0);
	ib_clause(&b, KINST_NONE, 0);
	for (i = 0; i < 100; i++)
		ib_ecb(&b, begin, 0);
	if (open_image(&s, &b))
		return -1;
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	for (i = 0; i < s.ncpus; i++)
		drops += s.prod[i]->drops;
	while (next_record(&s))
		n++;
	if (n != 4096 / 280 || drops != 100 - n)
		FAIL("%u records, %u drops", n, drops);
	close_session(&s);
	return 0;
}

/* poll() sleeps until there are records, and DRAINING wakes it. mmap refuses invalid requests. */
static int test_poll_mmap(void)
{
	struct pollfd p;
	struct session s;
	struct ib b;

	ib_init(&b);
	ib_act(&b, KINST_ACT_EXIT, ib_const(&b, 1, 4), 0);
	ib_ecb(&b, ib_probe(&b, KINST_P_BEGIN, "BEGIN"), ib_clause(&b, KINST_NONE, 0));
	if (open_image(&s, &b))
		return -1;
	p = (struct pollfd){ .fd = s.fd, .events = POLLIN };
	CHECK(poll(&p, 1, 50) == 0);
	if (!fork()) {
		usleep(100000);
		ioctl(s.fd, KINST_IOC_GO);
		_exit(0);
	}
	CHECK(poll(&p, 1, 5000) == 1 && p.revents == POLLIN);
	wait(NULL);
	CHECK(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0) == MAP_FAILED && errno == EPERM);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 4096) == MAP_FAILED && errno == EPERM);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, s.fd, 4096) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, s.fd, (off_t)8192 * KINST_RING_PAGES * 4096) == MAP_FAILED);
	CHECK(mmap(NULL, s.size, PROT_READ, MAP_SHARED, s.fd, 12288) == MAP_FAILED);
	CHECK(mprotect((void *)s.prod[0], 4096, PROT_READ | PROT_WRITE) && errno == EACCES);
	close_session(&s);
	return 0;
}

/* Refusals reach the caller, and do not change the session: a good image still loads. */
static int test_refusals(void)
{
	static const uint32_t back[] = { I_W(36, 0, 0), (uint32_t)17 << 24 | 0, I_RET(0) };
	struct session s;
	struct ib b;

	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, back, 3, NULL, 0, NULL, 0, T_VOID), 0);
	ib_ecb(&b, ib_probe(&b, KINST_P_BEGIN, "BEGIN"), ib_clause(&b, KINST_NONE, 0));
	CHECK(open_image(&s, &b));
	CHECK(s.error.code == KINST_V_BRANCH && s.error.difo == 0 && s.error.index == 1);
	CHECK(ioctl(s.fd, KINST_IOC_GO) && errno == EINVAL);
	CHECK(ioctl(s.fd, KINST_IOC_STOP) && errno == EINVAL);
	CHECK(ioctl(s.fd, 0x1234) && errno == ENOTTY);
	close(s.fd);
	ib_init(&b);
	b.h.bufsize = 1ull << 38;
	ib_probe(&b, KINST_P_BEGIN, "BEGIN");
	CHECK(open_image(&s, &b));
	CHECK(s.error.code == KINST_V_LIMIT);
	close(s.fd);
	return 0;
}

/* Dozens of sessions; kill -9 in every state; several at once. */
static int test_kill(void)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 24; i++) {
		struct session s[3];
		struct ib b;
		int k;

		pid = fork();
		if (pid) {
			usleep(3000 * (i % 8));
			kill(pid, SIGKILL);
			CHECK(waitpid(pid, &status, 0) == pid);
			continue;
		}
		for (k = 0; k < 3; k++) {
			ib_init(&b);
			ib_user_var(&b, 0x500, 1, 1, T_INT(8));
			ib_act(&b, KINST_ACT_DIFEXPR, ib_string(&b, "x"), 0);
			ib_ecb(&b, ib_probe(&b, KINST_P_BEGIN, "BEGIN"), ib_clause(&b, KINST_NONE, 0));
			if (open_image(&s[k], &b))
				_exit(1);
			ioctl(s[k].fd, KINST_IOC_GO);
		}
		pause();
	}
	return 0;
}

/* A few string subroutines in the kernel; tests/unit.c tests the rest. */
static int test_subroutines(void)
{
	/* strjoin(lltostr(255, 16), "!") */
	static const uint64_t ints[] = { 255, 16 };
	static const uint32_t w[] = {
		I_SETX(0, 1), I_SETX(1, 2), I_FLUSH, I_PUSHV(1), I_PUSHV(2), I_CALL(24, 3),
		I_SETS(1, 4), I_FLUSH, I_PUSHS(3), I_PUSHS(4), I_CALL(23, 3), I_RET(3),
	};
	const struct kinst_rec *r;
	struct session s;
	struct ib b;

	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, w, 12, ints, 2, "\0!", 3, T_STRING), 0);
	ib_ecb(&b, ib_probe(&b, KINST_P_BEGIN, "BEGIN"), ib_clause(&b, KINST_NONE, 0));
	if (open_image(&s, &b))
		return -1;
	CHECK(!ioctl(s.fd, KINST_IOC_GO));
	r = next_record(&s);
	CHECK(r && r->epid == 1 && !strcmp((char *)(r + 1), "0xff!"));
	close_session(&s);
	return 0;
}

int main(void)
{
	static const struct test tests[] = {
		{ "records", test_records }, { "aggregations", test_aggregations }, { "variables", test_variables },
		{ "faults", test_faults }, { "builtins", test_builtins }, { "ring", test_ring },
		{ "poll and mmap", test_poll_mmap }, { "refusals", test_refusals }, { "kill -9", test_kill },
		{ "subroutines", test_subroutines },
	};

	return run_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
