#!/usr/sbin/dtrace -s
/* How often CPUs change threads, and how long a thread stays. */
#pragma D option quiet
#pragma D option defaultargs

dtrace:::BEGIN { num = 0; delta = 0; csw = 0; }

sched:::on-cpu { csw++; self->start = timestamp; }

sched:::off-cpu
/self->start/
{
	delta += timestamp - self->start;
	num++;
	self->start = 0;
}

profile:::tick-1sec
{
	printf("%20Y %8d %10d\n", walltimestamp, csw, num == 0 ? 0 : delta / (num * 1000));
	done = 1;
	exit(0);
}
