#!/usr/sbin/dtrace -s
/* Bytes read and written, by the kind of file. */
#pragma D option quiet

syscall::read:entry, syscall::pwrite64:entry, syscall::write:entry { self->fs = fds[arg0].fi_fs; self->ok = 1; }
syscall::read:return, syscall::pwrite64:return, syscall::write:return
/self->ok && (int)arg0 > 0/
{
	@[execname, self->fs, probefunc] = sum(arg0);
}
syscall::read:return, syscall::pwrite64:return, syscall::write:return { self->fs = 0; self->ok = 0; }
dtrace:::END { printa("%-16s %-10s %-10s %@d\n", @); }
