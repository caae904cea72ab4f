#!/usr/bin/env -S dtrace -s
/*
 * syslatency.d: the time that processes spend in each system call, and how many calls fail.
 *
 *	./syslatency.d [-c COMMAND | -p PID]
 *
 * Like `strace -c`, but for all processes at once and without stopping any. The times are wall
 * time: calls that wait (poll, futex, a read from a terminal) have large totals without being slow.
 * Look at the average of calls that should be quick, and at FAILED. The largest total is last. Ends
 * at ^C, or with COMMAND or PID.
 */
#pragma D option quiet
#pragma D option aggsortpos=1

BEGIN
{
	printf("Timing system calls\n");
}

syscall:::entry
/$target == 0 || pid == $target/
{
	self->began = timestamp;
}

syscall:::return
/self->began/
{
	this->us = (timestamp - self->began) / 1000;
	@calls[execname, probefunc] = count();
	@total[execname, probefunc] = sum(this->us);
	@average[execname, probefunc] = avg(this->us);
	@longest[execname, probefunc] = max(this->us);
	@failed[execname, probefunc] = sum(errno != 0);
	self->began = 0;
}

END
{
	printf("%-16s %-20s %9s %11s %11s %11s %8s\n", "PROCESS", "CALL", "CALLS", "TOTAL us",
	    "AVERAGE us", "LONGEST us", "FAILED");
	printa("%-16s %-20s %@9d %@11d %@11d %@11d %@8d\n", @calls, @total, @average, @longest,
	    @failed);
}
