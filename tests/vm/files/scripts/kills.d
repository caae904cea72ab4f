#!/usr/sbin/dtrace -s
/* Signals by kill(). */
#pragma D option quiet

dtrace:::BEGIN { printf("%5s %12s %5s %6s %6s\n", "FROM", "COMMAND", "SIG", "TO", "RESULT"); }
syscall::kill:entry { self->target = (int)arg0; self->signal = arg1; self->ok = 1; }
syscall::kill:return
/self->ok/
{
	printf("%5d %12s %5d %6d %6d\n", pid, execname, self->signal, self->target, (int)arg0);
	self->target = 0; self->signal = 0; self->ok = 0;
}
