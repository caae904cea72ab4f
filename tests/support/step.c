/*
 * step.c: single-steps a program and counts hits. step LIMIT SITES PROGRAM: a site is a line with an address, or with two
 * for the edge from one instruction to the other. `( START END` counts the calls of a function, `= ADDRESS` reads a number of
 * the program at the end. Only the code between the program's two int3 counts.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stddef.h>

#define MAX 65536

static struct site {
	char kind; /* 0, or one of ( and = */
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

		site->kind = strchr("(=", line[0]) ? line[0] : 0;
		sscanf(line + !!site->kind, "%lx %lx", &site->from, &site->to);
		if (site->kind == '=')
			continue;
		h = hash(site->to && !site->kind ? site->to : site->from);
		site->next = heads[h];
		heads[h] = nsites;
	}
	fclose(f);
}

static unsigned long ip(pid_t pid)
{
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
}

/* Whether the instruction is a call: e8, or ff /2. */
static int is_call(pid_t pid, unsigned long at)
{
	unsigned char code[8];
	long word = ptrace(PTRACE_PEEKTEXT, pid, at, 0);

	memcpy(code, &word, sizeof(word));
	return code[0] == 0xe8 || (code[0] == 0xff && (code[1] >> 3 & 7) == 2);
}

static int hits(const struct site *site, pid_t pid, unsigned long before, unsigned long at)
{
	if (site->kind)
		return site->from == at && (before < site->from || before >= site->to || is_call(pid, before));
	if (site->to)
		return site->from == before && site->to == at;
	/* A repeated string instruction takes many steps. */
	return site->from == at && before != at;
}

static void count(pid_t pid, unsigned long before, unsigned long at)
{
	int i;

	for (i = heads[hash(at)]; i; i = sites[i].next)
		sites[i].hits += hits(&sites[i], pid, before, at);
}

int main(int argc, char **argv)
{
	unsigned long before = 0, at, steps = 0, limit;
	int status, i;
	pid_t pid;

	if (argc < 4)
		return 2;
	limit = strtoul(argv[1], NULL, 10);
	read_sites(argv[2]);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[3], argv + 3);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && steps++ < limit) {
		siginfo_t info;

		at = ip(pid);
		count(pid, before, at);
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
	if (steps > limit) {
		kill(pid, SIGKILL);
		return 3;
	}
	for (i = 1; i <= nsites; i++)
		if (sites[i].kind == '=')
			sites[i].hits = ptrace(PTRACE_PEEKDATA, pid, sites[i].from, 0);
	kill(pid, SIGKILL);
	for (i = 1; i <= nsites; i++)
		printf("%lu\n", sites[i].hits);
	return 0;
}
