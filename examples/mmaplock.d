#!/usr/bin/env -S dtrace -s
/*
 * mmaplock.d: who waits for the lock of an address space, mmap_lock, and for how long.
 *
 *	./mmaplock.d [-c COMMAND | -p PID]
 *
 * mmap_read_lock() and its relatives are inlined into page faults, mmap(), exec and /proc, so that
 * a profile shows only the rwsem below them. A line is the function that takes the lock, the mode
 * and the process, with the microseconds from requesting the lock to having it. A few mean a free
 * lock; threads that fault while another one maps memory wait much longer. Ends at ^C, or with
 * COMMAND or PID; the largest total is last.
 */
#pragma D option quiet
#pragma D option aggsortpos=1

BEGIN
{
	printf("Timing mmap_lock\n");
}

kinst::mmap_read_lock:entry,
kinst::mmap_read_lock_killable:entry
/$target == 0 || pid == $target/
{
	self->asked = timestamp;
	self->by = probefunc;
	self->mode = "read";
}

kinst::mmap_write_lock:entry,
kinst::mmap_write_lock_killable:entry
/$target == 0 || pid == $target/
{
	self->asked = timestamp;
	self->by = probefunc;
	self->mode = "write";
}

kinst::mmap_read_lock:return,
kinst::mmap_read_lock_killable:return,
kinst::mmap_write_lock:return,
kinst::mmap_write_lock_killable:return
/self->asked/
{
	this->us = (timestamp - self->asked) / 1000;
	@times[self->by, self->mode, execname] = count();
	@total[self->by, self->mode, execname] = sum(this->us);
	@worst[self->by, self->mode, execname] = max(this->us);
	self->asked = 0;
	self->by = 0;
	self->mode = 0;
}

END
{
	printf("%-28s %-6s %-16s %8s %12s %12s\n", "FUNCTION", "MODE", "PROCESS", "TIMES",
	    "TOTAL us", "WORST us");
	printa("%-28s %-6s %-16s %@8d %@12d %@12d\n", @times, @total, @worst);
}
