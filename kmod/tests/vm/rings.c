// SPDX-License-Identifier: GPL-2.0
/*
 * rings.c: tests that no record is lost without being counted, that none is torn, and that they arrive in order; in
 * the guest.
 *
 * All CPUs run a known number of calls under a probe on each instruction; hits is the kernel's own count.
 * Prints "ok NAME" or "FAILED NAME: why", exits with the number of failures.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "places.h"

#define CALLS 4000
#define WORKERS 2

/* A record is its header, a time, and a mark that a torn record would lack. */
struct seen {
	struct kinst_rec rec;
	uint64_t time, mark;
};

#define MARK 0x0123456789abcdefull

static uint32_t recorder(struct ib *b, uint32_t flags, uint64_t bufsize)
{
	ib_init(b);
	b->h.flags = flags;
	b->h.bufsize = bufsize;
	ib_act(b, KINST_ACT_DIFEXPR, ib_var_difo(b, 0x101, T_INT(8)), 0);
	ib_act(b, KINST_ACT_DIFEXPR, ib_const(b, MARK, 8), 0);
	ib_clause(b, KINST_NONE, 0);
	return add_all(b, GETPPID, 0);
}

static pid_t pids[WORKERS];

static void start_work(long calls)
{
	int i;

	for (i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(i, &set);
		sched_setaffinity(0, sizeof(set), &set);
		while (calls--)
			syscall(SYS_getppid);
		_exit(0);
	}
}

static int working(void)
{
	int i, left = 0;

	for (i = 0; i < WORKERS; i++) {
		if (pids[i] && waitpid(pids[i], NULL, WNOHANG) == pids[i])
			pids[i] = 0;
		left += pids[i] != 0;
	}
	return left;
}

static uint64_t drops_of(struct session *s)
{
	uint64_t drops = 0;
	uint32_t i;

	for (i = 0; i < s->ncpus; i++)
		drops += s->prod[i]->drops;
	return drops;
}

/* Consumes the ring of a CPU; returns the number of records, or -1 if one is torn or out of order. */
static long take(struct session *s, uint32_t cpu, uint64_t *last)
{
	uint64_t pos = s->cons[cpu]->pos, end = __atomic_load_n(&s->prod[cpu]->pos, __ATOMIC_ACQUIRE);
	long n = 0;

	while (pos < end) {
		const struct seen *r = (void *)(s->data[cpu] + (pos & (s->size - 1)));
		uint32_t len = r->rec.len;

		if (!(len & KINST_REC_PAD)) {
			if (len != sizeof(*r) || r->mark != MARK || r->time != r->rec.timestamp || r->time < *last)
				return -1;
			*last = r->time;
			n++;
		}
		pos += len & KINST_REC_LEN;
	}
	__atomic_store_n(&s->cons[cpu]->pos, pos, __ATOMIC_RELEASE);
	return n;
}

/* policy: 's' the ring is drained while it fills, 'f' only at the end, 'r' old records are overwritten. */
static int account(char policy)
{
	uint64_t last[MAX_CPUS] = { 0 }, calls = CALLS * WORKERS, lost = 0;
	struct kinst_status st;
	struct session s;
	long seen = 0, n;
	uint32_t insns, i;
	struct ib b;

	insns = recorder(&b, policy == 'r' ? KINST_IMAGE_RING : 0, 8192);
	CHECK(insns > 5 && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	start_work(CALLS);
	do {
		for (i = 0; policy == 's' && i < s.ncpus; i++) {
			n = take(&s, i, &last[i]);
			CHECK(n >= 0);
			seen += n;
		}
		usleep(500);
	} while (working());
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	for (i = 0; i < s.ncpus; i++) {
		if (policy == 'r') {
			s.cons[i]->pos = s.prod[i]->tail;
			lost += s.prod[i]->tail / sizeof(struct seen); /* the size of a ring is a multiple: no padding */
		}
		n = take(&s, i, &last[i]);
		CHECK(n >= 0);
		seen += n;
	}
	CHECK(!get_status(&s, &st));
	lost += drops_of(&s);
	if (st.hits + st.nested != calls * insns || st.hits != seen + lost || !lost || !seen)
		FAIL("%lu hits and %lu nested of %lu; %ld records and %lu lost", (long)st.hits, (long)st.nested,
		     calls * insns, seen, lost);
	if (policy == 'f' && seen > 2 * 8192 / (long)sizeof(struct seen))
		FAIL("%ld records", seen);
	close_session(&s);
	return 0;
}

static int test_switch(void)
{
	return account('s');
}

static int test_fill(void)
{
	return account('f');
}

static int test_ring(void)
{
	return account('r');
}

/* Each snapshot removes the entries that it returns while more are added; together they have everything. */
static int test_snapshots(void)
{
	static char buf[1 << 20];
	struct kinst_status st;
	struct session s;
	uint64_t sum = 0;
	long snaps = 0;
	uint32_t insns;
	struct ib b;

	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x117, T_INT(4)), 0); /* tid */
	ib_agg(&b, KINST_ACT_COUNT, 1, 1, KINST_NONE, 0);
	ib_clause(&b, KINST_NONE, 0);
	insns = add_all(&b, GETPPID, 0);
	CHECK(insns > 5 && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	start_work(CALLS);
	do {
		sum += total(buf, snap(&s, buf, sizeof(buf)));
		snaps++;
	} while (working());
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	sum += total(buf, snap(&s, buf, sizeof(buf)));
	CHECK(!agg_drops && !get_status(&s, &st));
	if (sum != st.hits || st.hits + st.nested != (uint64_t)CALLS * WORKERS * insns || snaps < 5)
		FAIL("%lu counted, %lu hits, %lu nested, %ld snapshots", sum, (long)st.hits, (long)st.nested, snaps);
	close_session(&s);
	return 0;
}

/*
 * The program's own work contains probes: the clock, the copies. Hits inside it run nothing and are
 * counted as nested; the records being written stay whole.
 */
static int test_inside(void)
{
	static const char *const own[] = { "ktime_get_mono_fast_ns", "copy_from_kernel_nofault", "memset", "memcpy",
					   "strnlen", "irq_work_queue", "read_tsc", "native_sched_clock" };
	uint64_t banner = symbol("vprintk"), seen = 0;
	char first[64];
	struct kinst_status st;
	const struct kinst_rec *r;
	struct session s;
	uint32_t i, n = 0;
	int have = 0;
	struct ib b;

	ib_init(&b);
	b.h.bufsize = 4 << 20;
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, MARK, 8), 0);
	ib_act(&b, KINST_ACT_TRACEMEM, ib_const(&b, banner, 8), 64);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, ~MARK, 8), 0);
	ib_clause(&b, KINST_NONE, 0);
	add_all(&b, GETPPID, 0);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		n += add_all(&b, own[i], 0);
	CHECK(n > 20 && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	start_work(300);
	do {
		while ((r = next_record(&s))) {
			const char *p = (const char *)(r + 1);

			if (r->len != 16 + 8 + 64 + 8 || memcmp(p, &(uint64_t){ MARK }, 8) ||
			    memcmp(p + 72, &(uint64_t){ ~MARK }, 8) || (have && memcmp(first, p + 8, 64)))
				FAIL("record %lu is torn", seen);
			memcpy(first, p + 8, 64);
			have = 1;
			seen++;
		}
	} while (working());
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	while (next_record(&s))
		seen++;
	CHECK(!get_status(&s, &st));
	if (st.hits != seen + drops_of(&s) || !st.nested || !seen)
		FAIL("%lu hits, %lu records, %lu drops, %lu nested", (long)st.hits, seen, drops_of(&s), (long)st.nested);
	close_session(&s);
	return 0;
}

/* An NMI interrupts programs on all CPUs, and the functions that print for it have many probes. */
static int test_nmi(void)
{
	static const char *const path[] = { "nmi_cpu_backtrace", "show_regs", "vprintk", "vprintk_store", "printk_sprint",
					    "vsnprintf", "format_decode", "number", "string" };
	uint64_t last[MAX_CPUS] = { 0 }, seen = 0;
	struct kinst_status st;
	struct session s;
	uint32_t i, n = 0, k;
	struct ib b;
	long got;
	int key;

	recorder(&b, 0, 8 << 20);
	for (i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		n += add_all(&b, path[i], 0);
	CHECK(n > 100 && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	start_work(1000000);
	for (k = 0; k < 4; k++) {
		key = open("/proc/sysrq-trigger", O_WRONLY);
		CHECK(key >= 0 && write(key, "l", 1) == 1);
		close(key);
		for (i = 0; i < s.ncpus; i++) {
			got = take(&s, i, &last[i]);
			CHECK(got >= 0);
			seen += got;
		}
	}
	for (i = 0; i < WORKERS; i++)
		kill(pids[i], SIGKILL);
	while (working())
		usleep(1000);
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	for (i = 0; i < s.ncpus; i++) {
		got = take(&s, i, &last[i]);
		CHECK(got >= 0);
		seen += got;
	}
	CHECK(!get_status(&s, &st));
	if (st.hits != seen + drops_of(&s) || !seen)
		FAIL("%lu hits, %lu records, %lu drops, %lu nested", (long)st.hits, seen, drops_of(&s), (long)st.nested);
	close_session(&s);
	return 0;
}

/* Each hit faults: instead of its record there is a fault record, and it is counted. */
static int test_faults(void)
{
	uint64_t faults = 0, others = 0, errors = 0;
	struct kinst_status st;
	const struct kinst_rec *r;
	struct session s;
	uint32_t insns, i;
	struct ib b;

	ib_init(&b);
	b.h.bufsize = 1 << 20;
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, MARK, 8), 0);
	ib_act(&b, KINST_ACT_TRACEMEM, ib_const(&b, 16, 8), 64);
	ib_clause(&b, KINST_NONE, 0);
	insns = add_all(&b, GETPPID, 0);
	CHECK(insns && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	start_work(500);
	do {
		while ((r = next_record(&s)))
			*(r->epid == KINST_EPID_FAULT ? &faults : &others) += 1;
	} while (working());
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	while ((r = next_record(&s)))
		*(r->epid == KINST_EPID_FAULT ? &faults : &others) += 1;
	for (i = 0; i < s.ncpus; i++)
		errors += s.prod[i]->errors;
	CHECK(!get_status(&s, &st));
	if (errors != st.hits || faults + drops_of(&s) != errors || others || errors != 500ull * WORKERS * insns)
		FAIL("%lu hits, %lu errors, %lu fault records, %lu others", (long)st.hits, errors, faults, others);
	close_session(&s);
	return 0;
}

/* A consumer that writes nonsense gets drops, or old records again; the kernel writes only inside the ring. */
static int test_liar(void)
{
	static const uint64_t lies[] = { ~0ull, 1ull << 63, 8, 12345, 0x7fffffff };
	struct kinst_status st;
	struct session s;
	uint32_t insns, i, k = 0;
	struct ib b;

	insns = recorder(&b, 0, 8192);
	CHECK(insns && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	start_work(CALLS / 4);
	do {
		for (i = 0; i < s.ncpus; i++)
			memset(s.cons[i], 0x55 + k, 4096);
		for (i = 0; i < s.ncpus; i++)
			s.cons[i]->pos = rand() % 3 ? lies[k++ % 5] : s.prod[i]->pos - rand() % 20000;
		sched_yield();
	} while (working());
	CHECK(!ioctl(s.fd, KINST_IOC_STOP) && !get_status(&s, &st));
	for (i = 0; i < s.ncpus; i++)
		CHECK(s.prod[i]->size == s.size && s.prod[i]->pos % 8 == 0);
	CHECK(st.hits + st.nested == CALLS / 4 * WORKERS * (uint64_t)insns);
	close_session(&s);
	return 0;
}

/* More enablings than a hit has steps for: it ends with one fault, and the machine continues. */
static int test_endless(void)
{
	uint32_t w[256], n = 0, i, begin, clause, faults = 0;
	uint64_t one = 1;
	const struct kinst_rec *r;
	struct session s;
	struct ib b;

	ib_init(&b);
	w[n++] = I_SETX(0, 1);
	while (n < 255)
		w[n++] = I_R3(7, 1, 1, 1);
	w[n++] = I_RET(1);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, w, n, &one, 1, NULL, 0, T_INT(8)), 0);
	clause = ib_clause(&b, KINST_NONE, 0);
	begin = ib_probe(&b, KINST_P_BEGIN, "BEGIN");
	for (i = 0; i < 1000000; i++)
		ib_ecb(&b, begin, clause);
	CHECK(!open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	while ((r = next_record(&s)))
		if (r->epid == KINST_EPID_FAULT) {
			const struct kinst_fault *f = (void *)(r + 1);

			CHECK(f->fault == KINST_FLT_ILLOP);
			faults++;
		}
	for (i = 0; i < s.ncpus; i++)
		faults += s.prod[i]->errors;
	CHECK(faults >= 1 && faults <= 2);
	close_session(&s);
	return 0;
}

int main(void)
{
	static const struct test tests[] = {
		{ "switch", test_switch }, { "fill", test_fill }, { "ring", test_ring },
		{ "snapshots", test_snapshots }, { "inside", test_inside }, { "nmi", test_nmi },
		{ "faults", test_faults }, { "liar", test_liar }, { "endless", test_endless },
	};

	return run_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
