#!/usr/bin/env -S dtrace -s
/*
 * runqlat.d: how long threads wait for a CPU once they are able to run.
 *
 *	./runqlat.d [SECONDS]
 *
 * The time runs from the wake-up, or from losing the CPU to another thread, to running, in
 * microseconds. With idle CPUs nearly all of it is in the lowest rows. A tail of milliseconds means
 * that the CPUs are saturated; the table below shows which threads suffer, the worst last. Ends
 * after SECONDS, 10 by default.
 */
#pragma D option quiet
#pragma D option defaultargs

inline int SECONDS = $1 ? $1 : 10;

BEGIN
{
	printf("Timing run queues for %d s\n", SECONDS);
	left = SECONDS;
}

sched:::wakeup
{
	ready[args[0]->pr_lwpid] = timestamp;
}

sched:::preempt
/tid != 0/
{
	ready[tid] = timestamp;
}

sched:::on-cpu
/ready[tid]/
{
	this->us = (timestamp - ready[tid]) / 1000;
	@all["microseconds in a run queue"] = quantize(this->us);
	@worst[execname] = max(this->us);
	@average[execname] = avg(this->us);
	@times[execname] = count();
	ready[tid] = 0;
}

tick-1s
/--left <= 0/
{
	exit(0);
}

END
{
	printa("%s%@d\n", @all);
	printf("%-16s %12s %12s %10s\n", "PROCESS", "WORST us", "AVERAGE us", "TIMES");
	printa("%-16s %@12d %@12d %@10d\n", @worst, @average, @times);
}
