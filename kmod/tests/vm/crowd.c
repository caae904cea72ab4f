// SPDX-License-Identifier: GPL-2.0
/*
 * crowd.c: many sessions at once, and many in sequence, in the guest.
 *
 *   crowd overlap N      a session counts N calls exactly while others probe the same instructions for a while
 *   crowd toggle SECS    hundreds of probes on hot functions are armed and disarmed under load, at least five times
 *   crowd kill N         processes that open, load and close are killed at random moments
 *   crowd cycles N       open, load, go, stop, close, N times; reports leaked memory
 *   crowd place          the number of probes that a session may have at one instruction
 *   crowd aggs           counts calls by aggregation until a signal ends it; prints "CPU COUNT"
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "places.h"

static uint64_t chance = 1;

static uint32_t rnd(uint32_t n)
{
	chance = chance * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(chance >> 33) % n;
}

#define VAR_CPU 0x200

static char buf[1 << 20];

/* @[cpu] = count() on every instruction of getppid(). */
static uint32_t counter(struct ib *b)
{
	ib_init(b);
	ib_act(b, KINST_ACT_DIFEXPR, ib_var_difo(b, VAR_CPU, T_INT(4)), 0);
	ib_agg(b, KINST_ACT_COUNT, 1, 1, KINST_NONE, 0);
	ib_clause(b, KINST_NONE, 0);
	return add_all(b, GETPPID, 0);
}

/* Hits of counter() per call: all instructions, or fewer if lockdep has added branches. 0 if it varies. */
static long hits_of_a_call(void)
{
	enum { CALLS = 100 };
	uint32_t insns;
	struct session s;
	struct ib b;
	long n, i;

	insns = counter(&b);
	if (insns <= 5 || open_image(&s, &b) || ioctl(s.fd, KINST_IOC_GO))
		return 0;
	for (i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	if (ioctl(s.fd, KINST_IOC_STOP))
		return 0;
	n = total(buf, snap(&s, buf, sizeof(buf)));
	close_session(&s);
	if (n % CALLS || (n != CALLS * (long)insns && access("/proc/lockdep", F_OK)))
		return 0;
	return n / CALLS;
}

/* One of several very different programs. */
static void other_program(struct ib *b, uint32_t which)
{
	ib_init(b);
	switch (which % 4) {
	case 0: /* records that are never consumed */
		ib_act(b, KINST_ACT_DIFEXPR, ib_var_difo(b, 0x101, T_INT(8)), 0);
		ib_act(b, KINST_ACT_STACK, KINST_NONE, 5);
		break;
	case 1:
		ib_agg(b, KINST_ACT_QUANTIZE, 1, 0, ib_var_difo(b, 0x101, T_INT(8)), 0);
		break;
	case 2: /* a fault at each hit */
		ib_act(b, KINST_ACT_TRACEMEM, ib_const(b, 16, 8), 64);
		break;
	default:
		ib_act(b, KINST_ACT_PRINTF, ib_string(b, "x"), 1);
	}
	ib_clause(b, which & 4 ? ib_const(b, which & 8, 4) : KINST_NONE, 0);
	add_all(b, GETPPID, 0);
	add_place(b, KINST_P_FBT_ENTRY, symbol(GETPPID), 0, 0);
	add_place(b, KINST_P_FBT_RETURN, symbol(GETPPID), 0, 0);
}

static volatile int done;
static volatile long comings;

/* A separate process, to contain failures: opens, loads, goes and closes until it is killed. */
static void come_and_go(uint32_t seed)
{
	struct session s;
	struct ib b;

	for (chance = seed;; seed++) {
		other_program(&b, rnd(16));
		if (open_image(&s, &b))
			_exit(1);
		if (rnd(8))
			ioctl(s.fd, KINST_IOC_GO);
		usleep(rnd(30000));
		if (rnd(2))
			ioctl(s.fd, KINST_IOC_STOP);
		close_session(&s);
		comings++;
	}
}

static int overlap(long n)
{
	long k, each = hits_of_a_call();
	struct session s;
	struct ib b;
	pid_t pids[3];
	int status, i;

	CHECK(each > 5);
	counter(&b);
	CHECK(!open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	for (i = 0; i < 3; i++) {
		pids[i] = fork();
		if (!pids[i])
			come_and_go(77 * i + 1);
	}
	for (k = 0; k < n; k++) {
		syscall(SYS_getppid);
		if (k % 512 == 0)
			usleep(1000);
	}
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	for (i = 0; i < 3; i++) {
		CHECK(waitpid(pids[i], &status, WNOHANG) == 0); /* none of them has exited by itself */
		kill(pids[i], SIGKILL);
		waitpid(pids[i], &status, 0);
	}
	k = total(buf, snap(&s, buf, sizeof(buf)));
	if (k != n * each || agg_drops)
		FAIL("%ld hits, %ld calls of %ld hits, drops %lu", k, n, each, agg_drops);
	close_session(&s);
	printf("overlap: exact\n");
	return 0;
}

/* ---- toggling ---- */

static void hot_load(int i)
{
	int p[2], zero = open("/dev/zero", O_RDONLY);
	char a[512], c[512];
	uint64_t n;

	if (pipe(p))
		_exit(2);
	for (n = 0;; n++) {
		memset(a, (int)n + i, sizeof(a));
		if (write(p[1], a, sizeof(a)) != sizeof(a) || read(p[0], c, sizeof(c)) != sizeof(c) || memcmp(a, c, sizeof(c)))
			_exit(3);
		if (read(zero, c, sizeof(c)) != sizeof(c) || c[0] || c[511])
			_exit(4);
	}
}

static int toggle(long seconds)
{
	static const char *const hot[] = { "ksys_read", "vfs_read", "pipe_read", "rw_verify_area", "fput", "read_iter_zero" };
	time_t end = time(NULL) + seconds;
	long toggles = 0;
	uint32_t n = 0, i;
	struct session s;
	pid_t pids[2];
	struct ib b;
	int status;

	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i])
			hot_load(i);
	}
	/* On a slow machine, until the probes were toggled often enough: the case has a time limit. */
	while (time(NULL) < end || toggles <= 4) {
		ib_init(&b);
		ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
		ib_clause(&b, KINST_NONE, 0);
		for (i = n = 0; i < sizeof(hot) / sizeof(hot[0]); i++)
			n += add_all(&b, hot[i], 0);
		CHECK(!open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
		usleep(2000);
		close_session(&s);
		toggles++;
	}
	for (i = 0; i < 2; i++) {
		CHECK(waitpid(pids[i], &status, WNOHANG) == 0);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], &status, 0);
	}
	fprintf(stderr, "%ld times %u probes\n", toggles, n);
	printf("toggled %s probes %s\n", n > 200 ? "hundreds of" : "FEW", toggles > 4 ? "often" : "SELDOM");
	return 0;
}

/* ---- kill ---- */

static int kill_rounds(long n)
{
	long i, waited;
	pid_t pid;

	for (i = 0; i < n; i++) {
		pid = fork();
		if (!pid)
			come_and_go(i);
		usleep(rnd(120000));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	for (waited = 0; number_in(PARAMETER("sessions")) && waited < 100; waited++)
		usleep(50000);
	printf("killed; sessions %ld, memory %ld\n", number_in(PARAMETER("sessions")), number_in(PARAMETER("memory")));
	return 0;
}

/* ---- cycles ---- */

struct slab {
	char name[64];
	long objects, in_slab;
};

/* The number of areas of /proc/vmallocinfo with this in their line. */
static long areas_with(const char *text)
{
	FILE *f = fopen("/proc/vmallocinfo", "r");
	char line[512];
	long n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	if (f)
		fclose(f);
	return n;
}

static int slabs(struct slab *to, int room)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	char line[512];
	int n = 0;

	/* Without this, objects in per-CPU caches count as allocated, and so do the areas that vmalloc caches. */
	CHECK(!system("echo 2 >/proc/sys/vm/drop_caches; for f in /sys/kernel/slab/*/shrink; do echo 1 >$f; done"));
	/* CONFIG_DEBUG_OBJECTS fills a separate pool. */
	while (f && n < room && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %ld %*d %*d %ld", to[n].name, &to[n].objects, &to[n].in_slab) != 3 ||
		    !strncmp(line, "#", 1) || !strcmp(to[n].name, "debug_objects_cache"))
			continue;
		/* vfree() keeps areas until there are many. */
		if (!strcmp(to[n].name, "vmap_area"))
			to[n].objects -= areas_with("unpurged");
		n++;
	}
	if (f)
		fclose(f);
	return n;
}

/* The number of vmalloc areas that the module has allocated. */
static long areas(void)
{
	return areas_with("[kinst]");
}

static int cycle(void)
{
	struct session s;
	struct ib b;
	int i;

	ib_init(&b);
	b.h.nspec = 2;
	b.h.specsize = 4096;
	ib_user_var(&b, 0x500, 1, 1, T_INT(8));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, 0x101, T_INT(8)), 0);
	ib_agg(&b, KINST_ACT_COUNT, 1, 1, KINST_NONE, 0);
	ib_act(&b, KINST_ACT_SPECULATE, ib_const(&b, 1, 4), 0);
	ib_clause(&b, KINST_NONE, 0);
	add_all(&b, GETPPID, 0);
	add_all(&b, "_copy_to_iter", 0);
	add_place(&b, KINST_P_FBT_ENTRY, symbol(GETPPID), 0, 0);
	add_place(&b, KINST_P_FBT_RETURN, symbol(GETPPID), 0, 0);
	add_place(&b, KINST_P_PROFILE, 10000000, 0, 0);
	add_place(&b, KINST_P_SYSCALL_ENTRY, 110, 0, 0);
	add_place(&b, KINST_P_EVENT, KINST_E_SCHED_WAKEUP, 0, 0);
	CHECK(!open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	for (i = 0; i < 5; i++)
		syscall(SYS_getppid);
	CHECK(!ioctl(s.fd, KINST_IOC_STOP));
	close_session(&s);
	return 0;
}

/* The number of slabs with at least this many more objects than before. A partial slab's free objects may count. */
static long grown(const struct slab *before, const struct slab *after, int count, long objects, int say)
{
	long k, bad = 0;

	for (k = 0; k < count; k++)
		if (after[k].objects - before[k].objects >= objects + after[k].in_slab) {
			if (say)
				printf("slab %s: %ld objects more\n", after[k].name,
				       after[k].objects - before[k].objects);
			bad++;
		}
	return bad;
}

/* A cycle mostly waits for the kernel. */
#define AT_ONCE 8

static int many_cycles(long n)
{
	int i, status, bad = 0;

	fflush(stdout);
	for (i = 0; i < AT_ONCE; i++) {
		pid_t pid = fork();

		bad |= pid < 0;
		if (pid)
			continue;
		for (; n >= AT_ONCE && !bad; n -= AT_ONCE)
			bad = cycle();
		fflush(stdout);
		_exit(bad != 0);
	}
	while (wait(&status) > 0)
		bad |= status;
	return bad ? -1 : 0;
}

/* SLUB's caches make a slab seem up to some 260 objects larger or smaller, and a partial slab has 512: n must be more than 1024. */
static int cycles(long n)
{
	static struct slab before[512], after[512];
	long i, areas_before, bad;
	int count;

	if (many_cycles(10 * AT_ONCE))
		return -1;
	sleep(2);
	count = slabs(before, 512);
	areas_before = areas();
	if (many_cycles(n))
		return -1;
	/* The last objects are freed once every task has passed through the scheduler, RCU's queue 5 s later. */
	for (i = 0; i < 10; i++) {
		sleep(2);
		CHECK(slabs(after, 512) == count && count > 50);
		if (!grown(before, after, count, n / 2, 0))
			break;
	}
	bad = grown(before, after, count, n / 2, 1);
	if (areas() != areas_before) {
		printf("%ld areas of vmalloc, %ld before\n", areas(), areas_before);
		bad++;
	}
	printf("cycles: %s; sessions %ld, memory %ld\n", bad ? "LEAKS" : "nothing is left", number_in(PARAMETER("sessions")),
	       number_in(PARAMETER("memory")));
	return 0;
}

/* ---- one place ---- */

static int one_place(void)
{
	struct session s;
	struct ib b;
	int i;

	ib_init(&b);
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	ib_clause(&b, KINST_NONE, 0);
	for (i = 0; i < 1000; i++)
		add_place(&b, KINST_P_FBT_ENTRY, symbol(GETPPID), 0, 0);
	allow_refused = 1;
	CHECK(!open_image(&s, &b));
	printf("of 1000 probes at one place %d are armed\n", 1000 - refused);
	close_session(&s);
	return 0;
}

/* ---- aggregations by CPU ---- */

static void on_signal(int sig)
{
	done = sig;
}

static int aggs(void)
{
	uint64_t by_cpu[MAX_CPUS] = { 0 };
	long each = hits_of_a_call();
	uint32_t cpu;
	struct session s;
	int64_t n, at;
	struct ib b;

	signal(SIGTERM, on_signal);
	CHECK(each);
	counter(&b);
	CHECK(!open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	printf("counting\n");
	fflush(stdout);
	for (;;) {
		int last = done;

		if (last)
			ioctl(s.fd, KINST_IOC_STOP);
		n = snap(&s, buf, sizeof(buf));
		for (at = 0; at < n; at += ((struct kinst_agg_entry *)(buf + at))->len) {
			const struct kinst_agg_entry *e = (void *)(buf + at);

			memcpy(&cpu, e + 1, 4);
			by_cpu[cpu % MAX_CPUS] += *(uint64_t *)(buf + at + e->len - 8);
		}
		if (last)
			break;
		usleep(20000);
	}
	for (cpu = 0; cpu < s.ncpus; cpu++)
		if (by_cpu[cpu] % each)
			printf("CPU %u: %lu hits are not a multiple of %ld\n", cpu, by_cpu[cpu], each);
		else
			printf("CPU %u: %lu calls\n", cpu, by_cpu[cpu] / each);
	close_session(&s);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
	int ret = -1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	chance = time(NULL);
	snprintf(why, sizeof(why), "usage: see the source");
	if (!strcmp(what, "overlap"))
		ret = overlap(n);
	else if (!strcmp(what, "toggle"))
		ret = toggle(n);
	else if (!strcmp(what, "kill"))
		ret = kill_rounds(n);
	else if (!strcmp(what, "cycles"))
		ret = cycles(n);
	else if (!strcmp(what, "place"))
		ret = one_place();
	else if (!strcmp(what, "aggs"))
		ret = aggs();
	if (ret)
		printf("FAILED: %s\n", why);
	return ret != 0;
}
