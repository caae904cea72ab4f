/*
 * calls.c: a known number of system calls with known arguments, for tracing.
 *
 *   calls getppid N          N calls of getppid
 *   calls write SIZE...      a write of each size to /dev/null
 *   calls seek OFFSET...     a relative seek by each offset, in a temporary file; it prints the results
 *   calls threads N M        N threads in sequence, with M calls of getppid each; it prints their ids
 *   calls id [UID GID]       changes its ids, prints them, and calls getppid once
 *   calls spin MS            MS milliseconds of CPU time between two calls of getppid
 *   calls nap MS             sleeps MS milliseconds between two calls of getppid
 *   calls priority N M       N calls of getpriority that succeed, then M that fail with EINVAL
 *   calls wait FILE          calls getppid until FILE exists, and prints the number of calls
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char bytes[1 << 20];

static void *getppids(void *n)
{
	for (long i = 0; i < (long)n; i++)
		syscall(SYS_getppid);
	return NULL;
}

static void *thread(void *n)
{
	printf("%ld\n", (long)syscall(SYS_gettid));
	return getppids(n);
}

static void threads(long n, long m)
{
	while (n--) {
		pthread_t id;

		if (pthread_create(&id, NULL, thread, (void *)m))
			exit(1);
		pthread_join(id, NULL);
	}
}

static void writes(char **size)
{
	int fd = open("/dev/null", O_WRONLY);

	for (; *size; size++)
		if (write(fd, bytes, atol(*size)) != atol(*size))
			exit(1);
}

static void priorities(long good, long bad)
{
	while (good--)
		getpriority(PRIO_PROCESS, 0);
	while (bad--)
		getpriority(9, 0);
}

static void seeks(char **offset)
{
	int fd = open("/tmp/seek", O_RDWR | O_CREAT, 0600);

	for (; *offset; offset++) {
		off_t at = lseek(fd, atol(*offset), SEEK_CUR);

		printf("%ld\n", (long)(at < 0 ? -errno : at));
	}
}

static void id(char **ids)
{
	if (ids[0] && (setgid(atol(ids[1])) || setuid(atol(ids[0]))))
		exit(1);
	printf("pid %d tid %ld ppid %d uid %d gid %d\n", getpid(), (long)syscall(SYS_gettid), getppid(), getuid(),
	       getgid());
	fflush(stdout);
	/* This call is distinguished by its arguments, which the kernel ignores. */
	syscall(SYS_getppid, 11, 22, 33, 44, 55, 66);
}

static long used(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Spends most of the time here, not in the vDSO. */
static void spin(long ms)
{
	volatile int steps;
	long end;

	getppids((void *)1);
	for (end = used() + ms; used() < end;)
		for (steps = 0; steps < 2000; steps++)
			;
	getppids((void *)1);
}

static void nap(long ms)
{
	getppids((void *)1);
	usleep(ms * 1000);
	getppids((void *)1);
}

static void until(const char *file)
{
	long n = 0;

	do {
		getppids((void *)1);
		n++;
	} while (access(file, F_OK));
	printf("%ld\n", n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(what, "getppid"))
		getppids((void *)n);
	else if (!strcmp(what, "write"))
		writes(argv + 2);
	else if (!strcmp(what, "seek"))
		seeks(argv + 2);
	else if (!strcmp(what, "threads") && argc == 4)
		threads(n, atol(argv[3]));
	else if (!strcmp(what, "id"))
		id(argv + 2);
	else if (!strcmp(what, "spin"))
		spin(n);
	else if (!strcmp(what, "nap"))
		nap(n);
	else if (!strcmp(what, "priority") && argc == 4)
		priorities(atol(argv[2]), atol(argv[3]));
	else if (!strcmp(what, "wait") && argc == 3)
		until(argv[2]);
	else
		return 2;
	return 0;
}
