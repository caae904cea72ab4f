/*
 * step.c: single-steps a program and counts hits. step SITES PROGRAM: a site is a line with an address, or with two for
 * the edge from one instruction to the other. Only the code between the program's two int3 counts.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stddef.h>

#define MAX 65536

static struct site {
	unsigned long from, to;
	unsigned long hits;
	int next; /* the next one with the same hash */
} sites[MAX];
static int nsites, heads[MAX];

static unsigned hash(unsigned long address)
{
	return (address ^ address >> 16) % MAX;
}

static void read_sites(const char *name)
{
	FILE *f = fopen(name, "r");
	char line[100];

	if (!f)
		exit(2);
	while (fgets(line, sizeof(line), f) && nsites < MAX - 1) {
		struct site *site = &sites[++nsites];
		unsigned h;

		sscanf(line, "%lx %lx", &site->from, &site->to);
		h = hash(site->to ? site->to : site->from);
		site->next = heads[h];
		heads[h] = nsites;
	}
	fclose(f);
}

static void count(unsigned long before, unsigned long at)
{
	int i;

	for (i = heads[hash(at)]; i; i = sites[i].next) {
		struct site *site = &sites[i];

		/* A repeated string instruction takes many steps. */
		if (site->to ? site->from == before && site->to == at : site->from == at && before != at)
			site->hits++;
	}
}

static unsigned long ip(pid_t pid)
{
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
}

int main(int argc, char **argv)
{
	unsigned long before = 0, at, steps = 0;
	int status, i;
	pid_t pid;

	if (argc < 3)
		return 2;
	read_sites(argv[1]);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && steps++ < 30000000) {
		siginfo_t info;

		at = ip(pid);
		count(before, at);
		before = at;
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0))
			break;
		waitpid(pid, &status, 0);
		if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP &&
		    !ptrace(PTRACE_GETSIGINFO, pid, 0, &info) && info.si_code == SI_KERNEL)
			break;
	}
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
		fprintf(stderr, "step: status %x after %lu steps at %lx\n", status, steps, before);
		return 1;
	}
	kill(pid, SIGKILL);
	for (i = 1; i <= nsites; i++)
		printf("%lu\n", sites[i].hits);
	return 0;
}
