#!/usr/bin/env -S dtrace -s
/*
 * newpaths.d: code of a function that runs for the first time, and the process that reached it.
 *
 *	./newpaths.d FUNCTION SECONDS [-c COMMAND | -p PID]
 *	./newpaths.d vfs_read 10
 *
 * For SECONDS it only learns which instructions normally run; 0 prints from the start. Then a line
 * is printed whenever a thread reaches instructions that have not run before: the rare case, the
 * error path, code that a test did not cover until now. OFFSET is the first; its source line is
 * in `dtrace --disas FUNCTION`. Ends at ^C, or with COMMAND or PID, with the number of instructions
 * that have run.
 */
#pragma D option quiet

int seen[string];

BEGIN
{
	printf("%10s %7s %-16s %-32s %s\n", "MS", "PID", "PROCESS", "FUNCTION", "OFFSET");
	began = timestamp;
	instructions = 0;
}

kinst::$1:
/seen[probename]/
{
	self->new = 0;
}

kinst::$1:
/($target == 0 || pid == $target) && !seen[probename] && !self->new
    && timestamp - began >= $2 * 1000000000/
{
	printf("%10d %7d %-16s %-32s %s\n", (timestamp - began) / 1000000, pid, execname, probefunc,
	    probename);
}

kinst::$1:
/($target == 0 || pid == $target) && !seen[probename]/
{
	seen[probename] = 1;
	self->new = 1;
	instructions++;
}

END
{
	printf("%d instructions of %s have run\n", instructions, $$1);
}
