#!/usr/bin/env -S dtrace -s
/*
 * branches.d: how often each edge of a function's branches is taken.
 *
 *	./branches.d FUNCTION [-c COMMAND | -p PID]
 *	./branches.d vfs_read -c 'md5sum /etc/passwd'
 *
 * A line is one edge of a branch: from the branch at one offset to the instruction at the other.
 * `dtrace --disas FUNCTION` shows the source line of each offset. An edge without a line was never
 * taken; `dtrace -l -n 'kinst::FUNCTION:*-*'` lists all of them. Look for an unlikely edge that is
 * taken often, or an error path that is taken at all. Ends at ^C, or with COMMAND or PID.
 */
#pragma D option quiet
#pragma D option aggsortkey

BEGIN
{
	printf("Counting the branches of %s\n", $$1);
}

kinst::$1:*-*
/$target == 0 || pid == $target/
{
	/* The number comes first, for the order of the lines. */
	@ways[strtoll(probename), probename] = count();
}

END
{
	printf("%8s  %-24s %12s\n", "BRANCH", "FROM-TO", "TIMES");
	printa("%8d  %-24s %@12d\n", @ways);
}
