// SPDX-License-Identifier: GPL-2.0
/*
 * load.c: a known amount of work for the kernel, in the guest.
 *
 *   load getppid N     N system calls
 *   load read N        N reads of 64 bytes of /dev/zero
 *   load fault N       N rounds of user copies that fault: on pages allocated on
 *                      demand, pages that are not mapped, and invalid addresses
 *   load fork N        N short-lived processes
 *   load lap N         N system calls; prints the nanoseconds per call
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long bad;

static void expect(int cond)
{
	bad += !cond;
}

static void reads(long n)
{
	int fd = open("/dev/zero", O_RDONLY);
	char b[64];

	while (n--)
		expect(read(fd, b, sizeof(b)) == sizeof(b));
	close(fd);
}

static void one_fault(int fd[2], int zero, long i)
{
	char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *volatile wild = (char *)8;
	char buf[8192];
	ssize_t r;

	munmap(m + 4096, 4096);
	memset(buf, (int)i, sizeof(buf));
	/* the page is faulted in while the kernel copies */
	expect(write(fd[1], buf, 3000) == 3000);
	r = read(fd[0], m + 100, 3000);
	expect(r == 3000 && m[100] == (char)i && m[3099] == (char)i && !m[3100] && !m[99]);
	/* the copy ends at a hole */
	expect(write(fd[1], buf, 3000) == 3000);
	r = read(fd[0], m + 4096 - 1000, 3000);
	expect((r == -1 && errno == EFAULT) || r == 1000);
	while (read(fd[0], buf, sizeof(buf)) > 0)
		;
	/* zeroes up to the hole, but not beyond */
	memset(m, 1, 4096);
	expect(read(zero, m + 4096 - 1000, 3000) == 1000 && m[4096 - 1001] == 1 && !m[4096 - 1000] && !m[4095]);
	/* never mapped, and an invalid address */
	expect(read(zero, wild, 100) == -1 && errno == EFAULT);
	expect(write(fd[1], wild, 100) == -1 && errno == EFAULT);
	expect(syscall(SYS_uname, (char *)16) == -1 && errno == EFAULT);
	expect(syscall(SYS_uname, (char *)0x8000000000000000) == -1 && errno == EFAULT);
	expect(syscall(SYS_openat, AT_FDCWD, (char *)16, O_RDONLY) == -1 && errno == EFAULT);
	munmap(m, 4096);
}

static void faults(long n)
{
	int fd[2], zero = open("/dev/zero", O_RDONLY);
	long i;

	expect(pipe2(fd, O_NONBLOCK) == 0 && zero >= 0);
	for (i = 0; i < n; i++)
		one_fault(fd, zero, i);
	close(zero);
}

static void forks(long n)
{
	while (n--) {
		pid_t pid = fork();

		if (!pid)
			_exit(7);
		int status = 0;

		expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void getppids(long n)
{
	while (n--)
		syscall(SYS_getppid);
}

static int lap(long n)
{
	double start;

	getppids(n / 10); /* warm */
	start = seconds();
	getppids(n);
	printf("%.1f\n", (seconds() - start) / n * 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[2]) : 0;

	if (!n)
		return 2;
	if (!strcmp(argv[1], "lap"))
		return lap(n);
	if (!strcmp(argv[1], "getppid"))
		getppids(n);
	else if (!strcmp(argv[1], "read"))
		reads(n);
	else if (!strcmp(argv[1], "fault"))
		faults(n);
	else if (!strcmp(argv[1], "fork"))
		forks(n);
	else
		return 2;
	printf("%s %ld bad %ld\n", argv[1], n, bad);
	return bad != 0;
}
