// SPDX-License-Identifier: GPL-2.0
/*
 * sleeper.c: a task that sleeps in the page fault of a probed user copy while the probe is removed and other probes
 * need its slot; in the guest.
 *
 *   sleeper [SECS]   the copy must be right, whatever happens meanwhile; SECS: how long the task stays asleep
 *                    after the sessions are closed, for an rmmod that must wait
 */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "places.h"

#define N 3000

static char sent[N];
static char *page;
static int pipe_fd[2];
static volatile int woken;
static ssize_t got;

/* The functions that may contain the faulting copy, in different kernels. */
static const char *const copiers[] = { "_copy_to_iter", "copy_page_to_iter", "rep_movs_alternative", "copy_user_generic",
				       "copy_user_enhanced_fast_string", "copy_user_generic_string", "copyout",
				       "copy_user_generic_unrolled", "copy_to_user_iter", "_copy_to_user",
				       "__arch_copy_to_user" };

static void *sleep_in_copy(void *unused)
{
	(void)unused;
	got = read(pipe_fd[0], page, N);
	woken = 1;
	return NULL;
}

static uint32_t arm(struct session *s)
{
	uint32_t n = 0, i;
	struct ib b;

	ib_init(&b);
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	ib_clause(&b, KINST_NONE, 0);
	for (i = 0; i < sizeof(copiers) / sizeof(copiers[0]); i++)
		n += add_all(&b, copiers[i], 0);
	if (open_image(s, &b) || ioctl(s->fd, KINST_IOC_GO)) {
		printf("FAILED: %s\n", why);
		exit(1);
	}
	return n;
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = { 0 };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC), i;
	struct uffd_msg msg;
	struct session s;
	pthread_t thread;
	uint32_t n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = zero.range.start = (uintptr_t)page;
	reg.range.len = zero.range.len = 4096;
	for (i = 0; i < N; i++)
		sent[i] = i * 7 + 1;
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg) || pipe(pipe_fd) ||
	    write(pipe_fd[1], sent, N) != N) {
		perror("userfaultfd");
		return 2;
	}
	n = arm(&s);
	pthread_create(&thread, NULL, sleep_in_copy, NULL);
	if (read(uffd, &msg, sizeof(msg)) != sizeof(msg) || msg.event != UFFD_EVENT_PAGEFAULT) {
		perror("uffd");
		return 2;
	}
	printf("asleep in a fault under %s probes; fault slots %ld\n", n > 20 ? "many" : "FEW",
	       number_in(PARAMETER("fault_slots")));
	/* The probes are removed and armed again, and others are added and removed, while it sleeps. */
	close_session(&s);
	for (i = 0; i < 6; i++) {
		usleep(200000);
		arm(&s);
		usleep(20000);
		close_session(&s);
	}
	if (woken)
		printf("IT IS AWAKE ALREADY\n");
	if (argc > 1) {
		printf("closed\n");
		sleep(atoi(argv[1]));
	}
	ioctl(uffd, UFFDIO_ZEROPAGE, &zero);
	pthread_join(thread, NULL);
	printf("copied %s\n", got == N && !memcmp(page, sent, N) ? "right" : "WRONG");
	return 0;
}
