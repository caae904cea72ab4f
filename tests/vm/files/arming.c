// SPDX-License-Identifier: GPL-2.0
/*
 * arming.c: measures how long a tracer takes to arm its probes and to release them, in the guest.
 *
 *   arming SECONDS WORD COMMAND...   starts the command, waits until WORD is in its output, and interrupts it
 *
 * Prints "PLACES ARMED ENDED GONE": how many more ftrace functions or kprobes, whichever are more, the kernel had than
 * before; the seconds from the start to the word, from the interrupt to the command's end, and from the interrupt
 * until the kernel has as few as before. Otherwise "none" and the reason.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS "/sys/kernel/tracing/enabled_functions"
#define EVENTS "/sys/kernel/tracing/kprobe_events"
#define KPROBES "/sys/kernel/debug/kprobes/list"

/* The output of the command; only the end if it is long. */
static char text[1 << 16];
static size_t length;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* The number of lines of a file, without continuation lines; 0 if it does not exist. */
static long lines(const char *name)
{
	FILE *file = fopen(name, "r");
	int c, last = '\n';
	long n = 0;

	if (!file)
		return 0;
	while ((c = getc_unlocked(file)) != EOF) {
		n += last == '\n' && c != '\t';
		last = c;
	}
	fclose(file);
	return n;
}

struct probes {
	long functions, events, kprobes;
};

static struct probes probes(void)
{
	return (struct probes){ lines(FUNCTIONS), lines(EVENTS), lines(KPROBES) };
}

static int are_more(struct probes now, struct probes before)
{
	return now.functions > before.functions || now.events > before.events || now.kprobes > before.kprobes;
}

static long places(struct probes now, struct probes before)
{
	long functions = now.functions - before.functions, kprobes = now.kprobes - before.kprobes;

	return functions > kprobes ? functions : kprobes;
}

/* Reads more of the output: 1, or 0 at its end, or -1 on timeout. */
static int more(int fd, double end)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	double left = end - now();
	ssize_t n;

	if (left <= 0 || poll(&wait, 1, left * 1000) == 0)
		return -1;
	if (length > sizeof(text) / 2) {
		memmove(text, text + length / 2, length - length / 2);
		length -= length / 2;
	}
	n = read(fd, text + length, sizeof(text) - 1 - length);
	if (n <= 0)
		return 0;
	length += n;
	text[length] = 0;
	return 1;
}

/* The last non-empty line. */
static const char *last_line(void)
{
	char *line;

	while (length && text[length - 1] == '\n')
		text[--length] = 0;
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

static pid_t start(char **command, int *fd)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) || (pid = fork()) < 0)
		return -1;
	if (!pid) {
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		execvp(*command, command);
		fprintf(stderr, "%s: %s\n", *command, strerror(errno));
		_exit(127);
	}
	close(ends[1]);
	*fd = ends[0];
	return pid;
}

static int none(const char *why)
{
	printf("none %s\n", why);
	return 1;
}

static int kill_and_say(pid_t pid, const char *why)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return none(why);
}

/* Reads the rest of the output until the process ends: others may keep the pipe open. Returns 0, or -1 on timeout. */
static int ends(pid_t pid, int fd, double end)
{
	while (!waitpid(pid, NULL, WNOHANG)) {
		if (now() > end)
			return -1;
		if (!more(fd, now() + 0.005))
			usleep(1000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	double limit = argc > 3 ? atof(argv[1]) : 0, begin, armed, interrupt, ended;
	struct probes before = probes();
	long armed_places;
	int got, fd;
	pid_t pid;

	if (limit <= 0)
		return 2;
	begin = now();
	pid = start(argv + 3, &fd);
	if (pid < 0)
		return 2;
	while (!strstr(text, argv[2])) {
		got = more(fd, begin + limit);
		if (got <= 0)
			return kill_and_say(pid, got ? "not armed in time" : last_line());
	}
	armed = now();
	armed_places = places(probes(), before);
	/* A program may miss an interrupt while it reports that it is armed. */
	usleep(500000);
	interrupt = now();
	kill(pid, SIGINT);
	if (ends(pid, fd, interrupt + limit))
		return kill_and_say(pid, "not ended in time");
	ended = now();
	while (are_more(probes(), before)) {
		if (now() > ended + limit)
			return none("not released in time");
		usleep(20000);
	}
	printf("%ld %.3f %.3f %.3f\n", armed_places, armed - begin, ended - interrupt, now() - interrupt);
	return 0;
}
