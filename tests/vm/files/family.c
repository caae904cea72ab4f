/*
 * family.c: processes, threads and signals in known numbers, with known ends.
 *
 *   family exit N CODE     N children, in sequence, that exit with the code
 *   family kill N SIG      N children that are killed by the signal
 *   family threads N       N threads at once, which all end with the process
 *   family exec FILE       a child that runs the program
 *   family handle N        N signals to itself that it handles, and N that it ignores
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t all;
static volatile int handled;

static void *wait_for_the_end(void *arg)
{
	pthread_barrier_wait(&all);
	for (;;)
		pause();
	return arg;
}

static void handler(int sig)
{
	handled += sig > 0;
}

static void children(int n, int code, int sig, char **argv)
{
	while (n--) {
		pid_t pid = fork();

		if (!pid) {
			prctl(PR_SET_NAME, "child");
			if (argv)
				execv(argv[0], argv);
			if (sig)
				kill(getpid(), sig);
			_exit(code);
		}
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0, m = argc > 3 ? atoi(argv[3]) : 0, i;

	if (!strcmp(what, "exit")) {
		children(n, m, 0, NULL);
	} else if (!strcmp(what, "kill")) {
		children(n, 0, m, NULL);
	} else if (!strcmp(what, "exec")) {
		children(1, 127, 0, argv + 2);
	} else if (!strcmp(what, "threads")) {
		pthread_barrier_init(&all, NULL, n + 1);
		for (i = 0; i < n; i++) {
			pthread_t id;

			if (pthread_create(&id, NULL, wait_for_the_end, NULL))
				return 1;
		}
		pthread_barrier_wait(&all);
	} else if (!strcmp(what, "handle")) {
		signal(SIGUSR1, handler);
		signal(SIGUSR2, SIG_IGN);
		for (i = 0; i < n; i++) {
			kill(getpid(), SIGUSR1);
			kill(getpid(), SIGUSR2);
		}
		printf("%d\n", handled);
	} else {
		return 2;
	}
	return 0;
}
