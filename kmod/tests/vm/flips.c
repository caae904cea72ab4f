// SPDX-License-Identifier: GPL-2.0
/*
 * flips.c: repeatedly turns breakpoints into jumps and removes them, in code that a CPU runs constantly; in the guest.
 *
 *   flips ROUNDS
 *
 * Prints the number of rounds.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "places.h"

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static pid_t yielder(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	stay_on(0);
	for (;;) {
		sched_yield();
		syscall(SYS_getppid);
	}
}

static int round_of(int i)
{
	static const char *const path[] = { "__schedule", "do_sched_yield", SYSTEM_CALL "getppid", "pick_next_task_fair" };
	struct session s;
	uint32_t n = 0;
	struct ib b;
	size_t f;

	ib_init(&b);
	ib_clause(&b, KINST_NONE, 0);
	for (f = 0; f < sizeof(path) / sizeof(path[0]); f++)
		n += symbol(path[f]) ? add_all(&b, path[f], 0) : 0;
	CHECK(n > 100 && !open_image(&s, &b) && !ioctl(s.fd, KINST_IOC_GO));
	usleep(30000 + i % 16 * 10000);
	close_session(&s);
	return 0;
}

int main(int argc, char **argv)
{
	int i, rounds = argc == 2 ? atoi(argv[1]) : 0, failed = 0;
	pid_t pids[2] = { yielder(), yielder() };

	stay_on(1);
	for (i = 0; i < rounds && !failed; i++) {
		failed = round_of(i);
		if (i % 50 == 49 || i == rounds - 1)
			printf("%d rounds\n", i + 1), fflush(stdout);
	}
	for (i = 0; i < 2; i++)
		kill(pids[i], SIGKILL);
	return failed;
}
