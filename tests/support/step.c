/*
 * step.c: single-steps a program and counts hits. step LIMIT SITES PROGRAM: sites.h describes the lines of SITES. Only
 * the code between the program's two int3 instructions counts. step -o HITS LIMIT SITES PROGRAM [ARGUMENT]... counts
 * from the first instruction to the last, writes the numbers into the file HITS, and exits as the program does.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sites.h"

#define DEPTH 65536

/*
 * The calls that are active: a function is left when its return address is off the stack, or by a jump to another
 * function when it is on the top.
 */
static struct {
	struct site *site;
	unsigned long sp;
} active[DEPTH];
static int depth;

static int calls(pid_t pid, unsigned long at)
{
	long code = ptrace(PTRACE_PEEKTEXT, pid, at, 0);

	return is_call((unsigned char *)&code);
}

static int inside(const struct site *site, unsigned long at)
{
	return (at >= site->from && at < site->to) || (at >= site->cold && at < site->cold_end);
}

static int is_left(unsigned long before, const struct user_regs_struct *regs)
{
	const struct site *site = active[depth - 1].site;
	unsigned long sp = active[depth - 1].sp;

	return regs->rsp > sp || (regs->rsp == sp && inside(site, before) && !inside(site, regs->rip));
}

static void count(pid_t pid, unsigned long before, const struct user_regs_struct *regs)
{
	int i;

	while (depth && is_left(before, regs))
		active[--depth].site->hits++;
	for (i = heads[hash(regs->rip)]; i; i = sites[i].next) {
		struct site *site = &sites[i];

		if (!hits(site, before, regs->rip) &&
		    !(site->kind && site->from == regs->rip && calls(pid, before)))
			continue;
		if (site->kind != ')') {
			site->hits++;
			continue;
		}
		if (depth == DEPTH)
			exit(2);
		active[depth].site = site;
		active[depth++].sp = regs->rsp;
	}
}

static void print_hits(FILE *f)
{
	int i;

	for (i = 1; i <= nsites; i++)
		fprintf(f, "%lu\n", sites[i].hits);
}

/* From the first instruction to the end, which is the program's. */
static int step_all(pid_t pid, unsigned long limit, const char *output)
{
	unsigned long before = 0, steps = 0;
	int status = 0, signal = 0;
	FILE *f;

	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		struct user_regs_struct regs;

		signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (++steps > limit) {
			kill(pid, SIGKILL);
			return 3;
		}
		/* A signal arrives before the instruction. */
		if (!signal && !ptrace(PTRACE_GETREGS, pid, 0, &regs)) {
			count(pid, before, &regs);
			before = regs.rip;
		}
		ptrace(PTRACE_SINGLESTEP, pid, 0, signal);
	}
	f = fopen(output, "w");
	if (!f)
		return 2;
	print_hits(f);
	if (fclose(f))
		return 2;
	if (WIFSIGNALED(status))
		kill(getpid(), WTERMSIG(status));
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	unsigned long before = 0, steps = 0, limit;
	const char *output = NULL;
	int status, i;
	pid_t pid;

	if (argc > 2 && !strcmp(argv[1], "-o")) {
		output = argv[2];
		argc -= 2;
		argv += 2;
	}
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
	if (output)
		return step_all(pid, limit, output);
	waitpid(pid, &status, 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && steps++ < limit) {
		struct user_regs_struct regs;
		siginfo_t info;

		if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
			break;
		count(pid, before, &regs);
		before = regs.rip;
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
	print_hits(stdout);
	return 0;
}
