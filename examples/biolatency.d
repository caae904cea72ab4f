#!/usr/bin/env -S dtrace -s
/*
 * biolatency.d: how long requests to block devices take, and who makes them.
 *
 *	./biolatency.d [-c COMMAND]
 *
 * The time runs from the request to its completion, queues included, in microseconds. Two humps are
 * two kinds of request: cache and medium, or a short queue and a long one. The table below them is
 * the bytes requested by each process; most writes are by the kernel's write-back threads.
 * Ends at ^C or with COMMAND.
 */
#pragma D option quiet

BEGIN
{
	printf("Timing block requests\n");
}

io:::start
{
	began[arg0] = timestamp;
	device[arg0] = args[1]->dev_statname;
	@bytes[execname, args[1]->dev_statname, args[0]->b_flags & B_READ ? "read" : "write"] =
	    sum(args[0]->b_bcount);
}

/*
 * arg0 is the request itself: its position and size change while it is processed, and so does its
 * device if a disk has several paths.
 */
io:::done
/began[arg0]/
{
	@us[device[arg0], args[0]->b_flags & B_READ ? "read" : "write"] =
	    quantize((timestamp - began[arg0]) / 1000);
	began[arg0] = 0;
	device[arg0] = 0;
}

END
{
	printa("%s %s (us)%@d\n", @us);
	printf("%-16s %-12s %-6s %16s\n", "PROCESS", "DEVICE", "", "BYTES");
	printa("%-16s %-12s %-6s %@16d\n", @bytes);
}
