#!/usr/bin/env -S dtrace -s
/*
 * offcpu.d: what threads wait for: the time that they sleep, by kernel stack.
 *
 *	./offcpu.d [-c COMMAND | -p PID]
 *	./offcpu.d -p $(pidof mysqld)
 *
 * A profile shows what runs; this shows why something does not. The time runs from going to sleep
 * to running again, in microseconds. The stack shows what the thread waits for: a lock, a page, a
 * pipe, a timer. Without -c or -p, daemons that wait for work lead the list. Ends at ^C, or with
 * COMMAND or PID, and prints the 20 largest sums, the largest last.
 */
#pragma D option quiet

BEGIN
{
	printf("Adding up sleeps\n");
}

sched:::sleep
/$target == 0 || pid == $target/
{
	self->slept = timestamp;
}

sched:::on-cpu
/self->slept/
{
	@us[execname, pid, stack()] = sum((timestamp - self->slept) / 1000);
	self->slept = 0;
}

END
{
	trunc(@us, 20);
	printa("%s(%d)%k%@20d us\n\n", @us);
}
