#!/usr/sbin/dtrace -s
/* The time of processes, of the kernel, and idle. */
#pragma D option quiet

inline int OPT_all = 0;

sched:::on-cpu { self->on = timestamp; }

sched:::off-cpu
/self->on/
{
	this->t = timestamp - self->on;
	OPT_all ? @by[execname, pid] = sum(this->t) : (@all[pid == 0 ? "IDLE" : "PROCESS"] = sum(this->t));
	self->on = 0;
}

dtrace:::END
{
	OPT_all ? printa("%16s %6d %@16d\n", @by) : printa("%16s %@16d\n", @all);
}
