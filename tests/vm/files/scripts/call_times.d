#!/usr/sbin/dtrace -s
/* Time in system calls, by call. */
#pragma D option quiet

inline int OPT_elapsed = 1;
inline int OPT_counts = 1;
inline int OPT_cpu = 0;

syscall:::entry
/pid == $target/
{
	self->start = timestamp;
	self->vstart = vtimestamp;
	self->ok = 1;
}

syscall:::return
/self->ok/
{
	this->elapsed = timestamp - self->start;
	OPT_elapsed ? @elapsed[probefunc] = sum(this->elapsed) : 1;
	OPT_cpu ? @cpu[probefunc] = sum(vtimestamp - self->vstart) : 1;
	OPT_counts ? @counts[probefunc] = count() : 1;
	self->start = 0; self->vstart = 0; self->ok = 0;
}

dtrace:::END
{
	OPT_elapsed ? printf("%18s %16s\n", "SYSCALL", "TIME (ns)") : 1;
	OPT_elapsed ? printa("%18s %@16d\n", @elapsed) : 1;
	OPT_counts ? printf("%18s %16s\n", "SYSCALL", "COUNT") : 1;
	OPT_counts ? printa("%18s %@16d\n", @counts) : 1;
}
