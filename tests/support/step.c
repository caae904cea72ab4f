/*
 * step.c: single-steps a program and counts hits. step LIMIT SITES PROGRAM: sites.h describes the lines of SITES. Only
 * the code between the program's two int3 instructions counts.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stddef.h>

#include "sites.h"

static unsigned long ip(pid_t pid)
{
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
}

static int calls(pid_t pid, unsigned long at)
{
	long code = ptrace(PTRACE_PEEKTEXT, pid, at, 0);

	return is_call((unsigned char *)&code);
}

static void count(pid_t pid, unsigned long before, unsigned long at)
{
	int i;

	for (i = heads[hash(at)]; i; i = sites[i].next)
		if (hits(&sites[i], before, at) || (sites[i].kind && sites[i].from == at && calls(pid, before)))
			sites[i].hits++;
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
	if (!WIFSTOPPED(status)) {
		fprintf(stderr, "step: status %x after %lu steps at %lx\n", status, steps, before);
		return 1;
	}
	if (WSTOPSIG(status) != SIGTRAP || steps > limit) {
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
