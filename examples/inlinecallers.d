#!/usr/bin/env -S dtrace -s
/*
 * inlinecallers.d: the calls of an inlined function, by the function that it was inlined into.
 *
 *	./inlinecallers.d FUNCTION [-c COMMAND | -p PID]
 *	./inlinecallers.d get_task_struct -c 'ps ax'
 *
 * An inlined function has no symbol: what is probed is each of its copies in the code of other
 * functions. INLINED INTO is the function whose code the copy is part of, and CALLED BY is the
 * caller of that one. If FUNCTION also has code of its own, that code appears under its own name.
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
	@calls[probefunc, sym(caller)] = count();
}

END
{
	printf("%-32s %-36s %10s\n", "INLINED INTO", "CALLED BY", "CALLS");
	printa("%-32s %-36a %@10d\n", @calls);
}
