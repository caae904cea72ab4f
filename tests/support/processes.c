/*
 * processes.c: programs with threads, children, signals and jumps, whose functions count themselves. processes MODE
 * prints a line for each process at its end, or before it executes another program: `@ PID`, and the entries and
 * returns of copy() and of plain().
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(counter) __asm__ volatile("incq %0" : "+m"(counter))

/* Each thread has its counters: the kernel refuses probes at instructions with a lock prefix. */
static __thread unsigned long entered[2], left[2];
static unsigned long all[4];
static volatile unsigned sink = 3;
static __thread jmp_buf env;
static __thread int jumps;

static inline __attribute__((always_inline)) unsigned copy(unsigned a)
{
	COUNT(entered[0]);
	if (jumps && a % 5 == 2)
		longjmp(env, 1);
	a = a * 3 + sink;
	COUNT(left[0]);
	return a;
}

__attribute__((noinline)) static unsigned plain(unsigned a)
{
	COUNT(entered[1]);
	a = copy(a);
	if (a % 3 == 1)
		a += copy(a >> 1);
	COUNT(left[1]);
	return a;
}

static void calls(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sink += plain(i) & 1;
}

static void add(void)
{
	for (int i = 0; i < 2; i++) {
		__atomic_fetch_add(&all[2 * i], entered[i], __ATOMIC_RELAXED);
		__atomic_fetch_add(&all[2 * i + 1], left[i], __ATOMIC_RELAXED);
	}
}

static void report(void)
{
	add();
	printf("@ %d %lu %lu %lu %lu\n", getpid(), all[0], all[1], all[2], all[3]);
	fflush(stdout);
}

static void *thread(void *unused)
{
	(void)unused;
	calls(500);
	add();
	return NULL;
}

static void threads(void)
{
	pthread_t threads[64];

	for (int i = 0; i < 64; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			abort();
	for (int i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
}

static void forks(void)
{
	calls(10);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid) {
			memset(entered, 0, sizeof(entered));
			memset(left, 0, sizeof(left));
			calls(7);
			report();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	calls(10);
}

static volatile sig_atomic_t signals;

static void handler(int signal)
{
	(void)signal;
	signals++;
	sink += plain(signals) & 1;
}

static void signalled(void)
{
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &every, NULL);
	while (signals < 200)
		calls(20);
	setitimer(ITIMER_REAL, &never, NULL);
	for (int i = 0; i < 50; i++)
		raise(SIGALRM);
}

static void jumping(void)
{
	jumps = 1;
	for (volatile unsigned i = 0; i < 100; i++)
		if (!setjmp(env))
			sink += plain(i) & 1;
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "";

	if (!strcmp(mode, "threads"))
		threads();
	else if (!strcmp(mode, "forks"))
		forks();
	else if (!strcmp(mode, "signals"))
		signalled();
	else if (!strcmp(mode, "jumps"))
		jumping();
	else
		calls(9);
	report();
	if (!strcmp(mode, "exec"))
		execl(arguments[0], arguments[0], "again", NULL);
	return 0;
}
