// SPDX-License-Identifier: GPL-2.0
/*
 * killed.c: kills processes that already have a session while they load a second one, in the guest.
 *
 *   killed N     N processes, after a first one that measures how long a load takes
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include "places.h"

/* Enough function entries that ftrace takes a while to arm them. */
#define ENTRIES 200

/* The entries of all TCP functions. */
static uint32_t entries(struct ib *b)
{
	char *text = read_kallsyms(), *at;
	uint32_t n = 0;

	ib_init(b);
	ib_agg(b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	ib_clause(b, KINST_NONE, 0);
	for (at = text; at && (at = strstr(at, " T tcp_")); at++, n++)
		add_place(b, KINST_P_FBT_ENTRY, strtoull(at - 16, NULL, 16), 0, 0);
	free(text);
	return n;
}

/*
 * A process with two sessions with ftrace probes; *armed is set before the second is loaded, and after it. When the
 * process exits, the file with the higher number is closed first: the first session's.
 */
static int load_two(volatile int *armed)
{
	struct session first, second;
	int lower = open("/dev/null", O_RDONLY);
	struct ib b;

	allow_refused = 1;
	ib_init(&b);
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	ib_clause(&b, KINST_NONE, 0);
	add_place(&b, KINST_P_FBT_ENTRY, symbol("vfs_read"), 0, 0);
	CHECK(!open_image(&first, &b) && !ioctl(first.fd, KINST_IOC_GO));
	CHECK(entries(&b) >= ENTRIES);
	close(lower);
	*armed = 1;
	CHECK(!open_image(&second, &b));
	*armed = 2;
	return 0;
}

/* Both files are closed in the same task: neither may wait for the other. */
static int killed_loads(long n)
{
	volatile int *armed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long i, us, longest = 0, within = 0;
	pid_t pid;

	CHECK(armed != MAP_FAILED);
	for (i = 0; i <= n; i++) {
		*armed = 0;
		pid = fork();
		if (!pid) {
			if (load_two(armed)) {
				printf("FAILED: %s\n", why);
				_exit(1);
			}
			pause();
		}
		while (!*armed && waitpid(pid, NULL, WNOHANG) == 0)
			usleep(100);
		/* The first one measures how long a load takes. */
		for (us = i ? random() % longest : 60000000; us > 0 && *armed == 1; us -= 100) {
			usleep(100);
			longest += !i * 100;
		}
		CHECK(longest);
		within += *armed == 1;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	fprintf(stderr, "a load took %ld us or more, %ld of %ld killed within\n", longest, within, n);
	printf("killed in %s loads\n", within > n / 4 ? "many" : "FEW");
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	srandom(time(NULL));
	if (!killed_loads(argc > 1 ? atol(argv[1]) : 0))
		return 0;
	printf("FAILED: %s\n", why);
	return 1;
}
