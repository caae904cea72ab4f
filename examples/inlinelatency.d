#!/usr/bin/env -S dtrace -s
/*
 * inlinelatency.d: how long an inlined function takes, by the function that it was inlined into.
 *
 *	./inlinelatency.d FUNCTION [-c COMMAND | -p PID]
 *	./inlinelatency.d handle_pte_fault -c 'find /usr'
 *
 * The time is nanoseconds from the instruction where control enters a copy to the place where it
 * leaves the copy, sleep included. A copy that ends with a call is left at the call: the called
 * function is not counted. It includes the cost of the probes, so compare copies with each
 * other rather than trust a small number. A function that was not inlined works as well. Ends at
 * ^C, or with COMMAND or PID.
 */
#pragma D option quiet

BEGIN
{
	printf("Timing %s\n", $$1);
}

kinst::$1:entry
/$target == 0 || pid == $target/
{
	self->began = timestamp;
	self->where = probefunc;
}

kinst::$1:return
/self->began/
{
	this->ns = timestamp - self->began;
	@calls[self->where] = count();
	@average[self->where] = avg(this->ns);
	@longest[self->where] = max(this->ns);
	@spread[self->where] = quantize(this->ns);
	self->began = 0;
	self->where = 0;
}

END
{
	printa("%s (ns)%@d\n", @spread);
	printf("%-32s %10s %14s %14s\n", "INLINED INTO", "CALLS", "AVERAGE ns", "LONGEST ns");
	printa("%-32s %@10d %@14d %@14d\n", @calls, @average, @longest);
}
