#!/usr/bin/env -S dtrace -s
/*
 * hotstacks.d: where the kernel spends CPU time, sampled on each CPU 997 times a second.
 *
 *	./hotstacks.d [SECONDS]
 *
 * The samples are first divided into kernel, user and idle; then come the hottest functions,
 * instructions and stacks, the hottest last. The offset of an instruction is hexadecimal. `dtrace
 * --disas FUNCTION` shows the line and the inlined function that it belongs to; inlinecallers.d and
 * inlinelatency.d take it from there. Ends after SECONDS, 10 by default.
 */
#pragma D option quiet
#pragma D option defaultargs

inline int SECONDS = $1 ? $1 : 10;

BEGIN
{
	printf("Sampling for %d s\n", SECONDS);
	left = SECONDS;
}

profile-997
{
	@share[tid == 0 ? "idle" : arg0 ? "kernel" : "user"] = count();
}

profile-997
/arg0 && tid != 0/
{
	@functions[sym(arg0)] = count();
	@instructions[arg0] = count();
	@stacks[execname, stack()] = count();
}

tick-1s
/--left <= 0/
{
	exit(0);
}

END
{
	printa("%-12s %@12d samples\n", @share);
	trunc(@functions, 15);
	printf("\nFunctions\n");
	printa("%@8d %a\n", @functions);
	trunc(@instructions, 15);
	printf("\nInstructions\n");
	printa("%@8d %a\n", @instructions);
	trunc(@stacks, 10);
	printf("\nStacks\n");
	printa("%s%k%@20d\n\n", @stacks);
}
