#!/usr/sbin/dtrace -s
/* A program's operations on its files, with times. */
#pragma D option quiet

syscall::*read:entry, syscall::*write:entry
/pid == $target/
{
	self->what = probefunc;
	self->path = fds[arg0].fi_name;
	self->ts = timestamp;
}

syscall::*read:return, syscall::*write:return
/self->ts && (int)arg0 >= 0/
{
	@time[self->what, self->path] = sum(timestamp - self->ts);
	@size[self->what, self->path] = sum(arg0);
	self->ts = 0; self->what = 0; self->path = 0;
}

dtrace:::END
{
	printf("%-10s %-24s %10s %10s\n", "OPERATION", "FILE", "NS", "BYTES");
	printa("%-10s %-24s %@10d %@10d\n", @time, @size);
}
