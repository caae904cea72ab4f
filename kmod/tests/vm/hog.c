// SPDX-License-Identifier: GPL-2.0
/*
 * hog.c: a real-time task that monopolizes its CPU, but calls the scheduler; in the guest.
 *
 *   hog CPU
 *
 * Prints a line once it has the CPU. /proc/sys/kernel/sched_rt_runtime_us must be -1.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 50 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(argc == 2 ? atoi(argv[1]) : 0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &param)) {
		perror("hog");
		return 1;
	}
	puts("hog");
	fflush(stdout);
	for (;;)
		sched_yield();
}
