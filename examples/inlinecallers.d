#!/usr/bin/env -S dtrace -s
/*
 * inlinecallers.d: the calls of an inlined function, by the function that it was inlined into.
 *
 *	./inlinecallers.d FUNCTION [-c COMMAND | -p PID]
 *	./inlinecallers.d get_task_struct -c 'ps ax'
 *
 * An inlined function has no symbol: the probes are at each of its copies in the code of other
 * functions. INLINED INTO is the function whose code contains the copy; the lines below it are
 * that place, after the inlined functions around the copy, and its callers. If FUNCTION also has
 * out-of-line code, that code appears under its own name.
 * Ends at ^C, or with COMMAND or PID; without either, all processes are counted.
 */
#pragma D option quiet

BEGIN
{
	printf("Counting the calls of %s\n", $$1);
}

kinst::$1:entry
/$target == 0 || pid == $target/
{
	@calls[probefunc, stack(3)] = count();
}

END
{
	printf("%-32s %10s\n", "INLINED INTO", "CALLS");
	printa("%-32s %@10d%k", @calls);
}
