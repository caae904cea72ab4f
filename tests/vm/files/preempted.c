/*
 * preempted.c: calls of getppid() that are constantly preempted by others: preempted SECONDS [THREADS].
 *
 * Each CPU has that many low-priority threads, which only make calls, and a real-time one, which a timer wakes up
 * wherever the others are, and which then makes a call, too. A tracer loses hits where its programs can be preempted
 * if the kernel does not nest them. Prints "calls N timers M": all calls, and the calls of the threads that timers
 * wake up.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 256

struct thread {
	pthread_t id;
	int cpu, is_timer;
	unsigned long calls;
};

static struct timespec end;

static int is_over(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec);
}

static void fail(const char *what, int error)
{
	fprintf(stderr, "preempted: %s: %s\n", what, strerror(error));
	exit(1);
}

static void *calling(void *argument)
{
	struct thread *self = argument;
	struct sched_param priority = { .sched_priority = self->is_timer };
	struct timespec nap = { .tv_nsec = 20000 };
	unsigned int n = self->is_timer ? 4 : 1000;
	cpu_set_t set;
	int error;

	CPU_ZERO(&set);
	CPU_SET(self->cpu, &set);
	error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (error)
		fail("a thread's CPU", error);
	if (self->is_timer && (error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority)))
		fail("a thread's priority", error);
	while (!is_over()) {
		if (self->is_timer) {
			/* not in step with the calls */
			nap.tv_nsec = 20000 + (nap.tv_nsec * 7919 + 1) % 60000;
			nanosleep(&nap, NULL);
		}
		for (unsigned int i = 0; i < n; i++, self->calls++)
			syscall(SYS_getppid);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct thread threads[MOST];
	int seconds = argc > 1 ? atoi(argv[1]) : 0, low = argc > 2 ? atoi(argv[2]) : 2;
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), all = cpus * (low + 1), i, error;
	unsigned long calls = 0, timers = 0;

	if (seconds <= 0 || low <= 0 || all > MOST) {
		fprintf(stderr, "preempted SECONDS [THREADS]\n");
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	for (i = 0; i < all; i++) {
		struct thread *t = &threads[i];

		t->cpu = i % cpus;
		t->is_timer = i < cpus;
		error = pthread_create(&t->id, NULL, calling, t);
		if (error)
			fail("a thread", error);
	}
	for (i = 0; i < all; i++) {
		pthread_join(threads[i].id, NULL);
		calls += threads[i].calls;
		timers += threads[i].is_timer ? threads[i].calls : 0;
	}
	printf("calls %lu timers %lu\n", calls, timers);
	return 0;
}
