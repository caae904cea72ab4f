#!/usr/bin/env -S dtrace -s
/*
 * lockhold.d: which code holds mutexes for long, and which code waits for them.
 *
 *	./lockhold.d [-c COMMAND | -p PID]
 *
 * Both tables are by the function that called mutex_lock(), in microseconds, the longest last.
 * WAITED is the time from requesting a mutex to having it, HELD from having it to releasing it. A
 * long wait names a victim; the culprit is among the long holders. Time in mutexes that were taken
 * before the tracing is not measured. Ends at ^C, or with COMMAND or PID.
 */
#pragma D option quiet
/* The function that contains the code, not the wrapper of mutex_lock() that is inlined in it. */
#pragma D option noinline

BEGIN
{
	printf("Timing mutexes\n");
}

fbt::mutex_lock:entry,
fbt::mutex_lock_interruptible:entry,
fbt::mutex_lock_killable:entry
/$target == 0 || pid == $target/
{
	self->lock = arg0;
	self->asked = timestamp;
	self->by = caller;
}

/* The killable variants may fail, and then return an error: the mutex was not taken. */
fbt::mutex_lock:return,
fbt::mutex_lock_interruptible:return,
fbt::mutex_lock_killable:return
/self->lock && (probefunc == "mutex_lock" || (int)arg1 == 0)/
{
	@waited[sym(self->by)] = max((timestamp - self->asked) / 1000);
	self->since[self->lock] = timestamp;
	self->holder[self->lock] = self->by;
}

fbt::mutex_lock:return,
fbt::mutex_lock_interruptible:return,
fbt::mutex_lock_killable:return
{
	self->lock = 0;
	self->asked = 0;
	self->by = 0;
}

fbt::mutex_unlock:entry
/self->since[arg0]/
{
	this->us = (timestamp - self->since[arg0]) / 1000;
	@times[sym(self->holder[arg0])] = count();
	@longest[sym(self->holder[arg0])] = max(this->us);
	@held[sym(self->holder[arg0])] = sum(this->us);
	self->since[arg0] = 0;
	self->holder[arg0] = 0;
}

END
{
	printf("%-40s %12s\n", "WAITED", "LONGEST us");
	printa("%-40a %@12d\n", @waited);
	printf("\n%-40s %12s %12s %10s\n", "HELD BY", "LONGEST us", "TOTAL us", "TIMES");
	printa("%-40a %@12d %@12d %@10d\n", @longest, @held, @times);
}
