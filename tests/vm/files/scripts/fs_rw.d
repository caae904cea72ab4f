#!/usr/sbin/dtrace -s
/* Operations of the file system and its disk, in order. */
#pragma D option quiet
#pragma D option switchrate=10hz

inline int OPT_all = 1;

syscall::read:entry, syscall::write:entry
/pid == $target/
{
	self->name = fds[arg0].fi_pathname;
	self->fs = fds[arg0].fi_fs;
	self->go = 1;
}

syscall::read:return, syscall::write:return
/self->go/
{
	OPT_all ? printf("%-12s sc-%s %8d %s %s\n", execname, probefunc, (int)arg0, self->fs, self->name) : 1;
	self->go = 0; self->name = 0; self->fs = 0;
}

io:::start
/pid == $target/
{
	printf("%-12s disk_io %8d %s %s\n", execname, args[0]->b_bcount, args[1]->dev_statname, args[0]->b_flags & B_READ ? "R" : "W");
}
