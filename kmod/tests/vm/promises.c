// SPDX-License-Identifier: GPL-2.0
/*
 * promises.c: tests that programs cannot harm the rest of the system; in the guest.
 *
 *   promises copyout   copyout() in the middle of a task switch: another process's memory is unchanged
 *   promises ghosts    ppid and progenyof() in threads whose process was reaped (needs preempt=full init_on_free=1)
 *   promises nmi       programs that need much stack, deep in an NMI stack
 *   promises users     a probe with many places is charged for each
 *
 * Prints "ok NAME" or "FAILED NAME: why", exits with the number of failures.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "places.h"

#define OP_CMP 15
#define OP_LDGS 41
#define VAR_PID 0x116
#define VAR_EXECNAME 0x118
#define VAR_PPID 0x11d
#define SUBR_PROGENYOF 11
#define SUBR_COPYOUT 13
#define SUBR_D_PATH 54

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *page_at(void *addr, int flags)
{
	return mmap(addr, 4096, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
}

/* pid == PID. */
static uint32_t is_pid(struct ib *b, uint64_t pid)
{
	const uint32_t w[] = { I_W(OP_LDGS, VAR_PID, 1), I_SETX(0, 2), I_R3(OP_CMP, 1, 2, 0), 18u << 24 | 6,
			       I_R3(14, 0, 0, 1), 17u << 24 | 7, I_SETX(1, 1), I_W(36, 0, 0), I_RET(1) };

	return ib_difo(b, w, 9, (uint64_t[]){ pid, 1 }, 2, NULL, 0, T_INT(4));
}

/* ---- copyout() ---- */

#define PAGE ((void *)0x10000000) /* in each of the two processes */
#define SWITCHES 3000

static pid_t yielder(volatile int *go, volatile uint64_t *found)
{
	pid_t pid = fork();
	int i;

	if (pid)
		return pid;
	*(uint64_t *)page_at(PAGE, MAP_PRIVATE | MAP_FIXED) = 0;
	stay_on(0);
	while (!*go)
		sched_yield();
	for (i = 0; i < SWITCHES; i++)
		sched_yield();
	*found = *(uint64_t *)PAGE;
	_exit(0);
}

static int test_copyout(void)
{
	static const char *const path[] = { "__schedule", "__switch_to", "finish_task_switch.isra.0" };
	const uint32_t w[] = { I_SETX(0, 1), I_PUSHV(1), I_SETX(1, 1), I_PUSHV(1), I_SETX(2, 1), I_PUSHV(1),
			       I_CALL(SUBR_COPYOUT, 2), I_RET(0) };
	volatile uint64_t *shared = page_at(NULL, MAP_SHARED);
	volatile int *go = (volatile int *)&shared[8];
	uint64_t ints[] = { symbol("vprintk"), (uintptr_t)PAGE, 8 };
	pid_t target, other;
	struct session s;
	uint32_t i, n = 0;
	struct ib b;

	target = yielder(go, &shared[0]);
	other = yielder(go, &shared[1]);
	ib_init(&b);
	b.h.flags = KINST_IMAGE_DESTRUCTIVE;
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, w, 8, ints, 3, NULL, 0, T_VOID), 0);
	ib_clause(&b, is_pid(&b, target), 0);
	for (i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		n += symbol(path[i]) ? add_all(&b, path[i], 0) : 0;
	CHECK(n > 100 && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	*go = 1;
	CHECK(waitpid(target, NULL, 0) == target && waitpid(other, NULL, 0) == other);
	close_session(&s);
	if (!shared[0] || shared[1])
		FAIL("the target has %lx, the other process %lx", (long)shared[0], (long)shared[1]);
	return 0;
}

/* ---- tasks that have exited ---- */

#define GHOSTS 60

static void *last_thread(void *unused)
{
	struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_IDLE, &none);
	usleep(1000); /* the leader exits first */
	syscall(SYS_exit, 0);
	return unused;
}

/* Takes the CPU away now and then, long enough for freed memory to be reused. */
static void hog(void)
{
	struct sched_param param = { .sched_priority = 10 };
	struct timespec from, to;

	stay_on(0);
	sched_setscheduler(0, SCHED_FIFO, &param);
	for (;;) {
		usleep(200 + rand() % 3000);
		clock_gettime(CLOCK_MONOTONIC, &from);
		do
			clock_gettime(CLOCK_MONOTONIC, &to);
		while ((to.tv_sec - from.tv_sec) * 1000000000l + to.tv_nsec - from.tv_nsec < 20000000);
	}
}

static int test_ghosts(void)
{
	static const char *const tail[] = { "do_exit", "do_task_dead", "exit_rcu" };
	const uint32_t progeny[] = { I_SETX(0, 1), I_PUSHV(1), I_CALL(SUBR_PROGENYOF, 2), I_RET(2) };
	uint64_t one = 1, orphans = 0, others = 0, faults = 0;
	const struct kinst_rec *r;
	struct session s;
	pthread_t thread;
	pid_t pid, hogs;
	uint32_t i, n = 0;
	struct ib b;

	ib_init(&b);
	b.h.bufsize = 16 << 20;
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, VAR_PPID, T_INT(4)), 0);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, progeny, 4, &one, 1, NULL, 0, T_INT(4)), 0);
	ib_clause(&b, KINST_NONE, 0);
	for (i = 0; i < sizeof(tail) / sizeof(tail[0]); i++)
		n += symbol(tail[i]) ? add_all(&b, tail[i], 0) : 0;
	CHECK(n > 100 && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	hogs = fork();
	if (!hogs)
		hog();
	stay_on(1);
	for (i = 0; i < GHOSTS; i++) {
		pid = fork();
		if (!pid) {
			stay_on(0);
			pthread_create(&thread, NULL, last_thread, NULL);
			syscall(SYS_exit, 0);
		}
		CHECK(waitpid(pid, NULL, 0) == pid);
		while ((r = next_record(&s))) {
			const uint32_t *ppid = (const uint32_t *)(r + 1);

			if (r->epid == KINST_EPID_FAULT)
				faults++;
			else
				*(*ppid ? &others : &orphans) += 1;
		}
	}
	kill(hogs, SIGKILL);
	CHECK(waitpid(hogs, NULL, 0) == hogs);
	close_session(&s);
	if (!orphans || !others || faults)
		FAIL("%lu hits without a parent, %lu with one, %lu faults", orphans, others, faults);
	return 0;
}

/* ---- the NMI stack ---- */

static int test_nmi(void)
{
	/* The functions that print an address as a symbol run deep in the stack; the others handle the fault. */
	static const char *const deep[] = { "__sprint_symbol.isra.0", "sprint_symbol", "kallsyms_lookup_buildid",
					    "kallsyms_expand_symbol.constprop.0", "get_symbol_pos", "string_nocheck",
					    "symbol_string", "module_address_lookup", "bpf_address_lookup",
					    "is_bpf_text_address", "search_exception_tables", "search_extable",
					    "fixup_exception", "cmp_ex_search", "bsearch" };
	const uint32_t path[] = { I_SETX(0, 1), I_PUSHV(1), I_CALL(SUBR_D_PATH, 2), I_RET(2) };
	uint64_t bad = 0xffffffff00001000; /* not mapped: a page fault */
	struct kinst_status st;
	uint32_t i, n = 0, k;
	struct session s;
	pid_t busy;
	struct ib b;
	int key;

	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, path, 4, &bad, 1, NULL, 0, T_STRING), 0);
	ib_clause(&b, KINST_NONE, 0);
	allow_refused = 1;
	for (i = 0; i < sizeof(deep) / sizeof(deep[0]); i++)
		n += symbol(deep[i]) ? add_all(&b, deep[i], 0) : 0;
	CHECK(n > 100 && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	allow_refused = 0;
	busy = fork();
	if (!busy)
		for (;;)
			syscall(SYS_getppid);
	for (k = 0; k < 6; k++) {
		key = open("/proc/sysrq-trigger", O_WRONLY);
		CHECK(key >= 0 && write(key, "l", 1) == 1);
		close(key);
		usleep(100000);
	}
	kill(busy, SIGKILL);
	CHECK(waitpid(busy, NULL, 0) == busy);
	CHECK(!ioctl(s.fd, KINST_IOC_STOP) && !get_status(&s, &st));
	close_session(&s);
	if (!st.nested || !st.hits)
		FAIL("%lu hits, %lu nested", (long)st.hits, (long)st.nested);
	return 0;
}

/* ---- charges for listeners ---- */

#define COPIES 64

static long memory_of(uint32_t kind, int *limited)
{
	uint64_t func = symbol("arch_ptrace"); /* has several exits on all kernels */
	struct session s;
	uint32_t i;
	struct ib b;
	long memory;

	ib_init(&b);
	ib_clause(&b, KINST_NONE, KINST_CLAUSE_RECORD);
	for (i = 0; i < COPIES; i++)
		add_place(&b, kind, func, 0, 0);
	allow_refused = 1;
	if (open_image(&s, &b))
		return -1;
	allow_refused = 0;
	*limited = refused;
	memory = number_in(PARAMETER("memory"));
	close_session(&s);
	return memory;
}

static int set_max_memory(long bytes)
{
	FILE *f = fopen(PARAMETER("max_memory"), "w");
	int ret = f ? fprintf(f, "%ld\n", bytes) < 0 : -1;

	return f && fclose(f) ? -1 : ret;
}

static int test_users(void)
{
	long entry, ret, old = number_in(PARAMETER("max_memory"));
	int limited;

	entry = memory_of(KINST_P_FBT_ENTRY, &limited);
	CHECK(entry > 0 && !limited);
	ret = memory_of(KINST_P_FBT_RETURN, &limited);
	CHECK(ret > entry && !limited);
	CHECK(!set_max_memory(entry + (ret - entry) / 2));
	memory_of(KINST_P_FBT_RETURN, &limited);
	CHECK(!set_max_memory(old));
	CHECK(limited > 0 && limited < COPIES);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "copyout", test_copyout }, { "ghosts", test_ghosts }, { "nmi", test_nmi }, { "users", test_users },
	};
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(argv[1], tests[i].name))
			return run_tests(&tests[i], 1);
	return 2;
}
