#!/usr/bin/env -S dtrace -s
/*
 * execsnoop.d: each program that is started, how it ended, and after how long.
 *
 *	./execsnoop.d
 *
 * A > line is a start, with the arguments; a < line is an end, with the exit status or the signal.
 * It shows what top cannot: swarms of processes that live for milliseconds. The time is "?" for a
 * process that was started before the tracing. Ends at ^C.
 */
#pragma D option quiet
#pragma D option strsize=512
#pragma D option switchrate=10hz

BEGIN
{
	printf("%-20s   %7s %7s %5s %s\n", "TIME", "PID", "PARENT", "UID", "COMMAND, OR STATUS");
}

proc:::exec-success
{
	printf("%-20Y > %7d %7d %5d %s\n", walltimestamp, pid, ppid, uid, execargs);
	started[pid] = timestamp;
}

proc:::exit
{
	this->ended = args[0] == CLD_EXITED ? "status" : args[0] == CLD_DUMPED
	    ? "core dumped, signal" : "signal";
	this->code = args[0] == CLD_EXITED ? (curpsinfo->pr_wstat >> 8) & 0xff
	    : curpsinfo->pr_wstat & 0x7f;
	this->ms = (timestamp - started[pid]) / 1000000;
	this->life = started[pid] ? strjoin(lltostr(this->ms), " ms") : "?";
	printf("%-20Y < %7d %7d %5d %s: %s %d after %s\n", walltimestamp, pid, ppid, uid, execname,
	    this->ended, this->code, this->life);
	started[pid] = 0;
}
