#!/usr/sbin/dtrace -s
/* Commands, reads and writes of shells. */
#pragma D option quiet

inline int OPT_quiet = 1;

syscall::exec*:return
/execname == "sh" || execname == "cat"/
{
	OPT_quiet ? 1 : printf("%Y ", walltimestamp);
	printf("%5d %5d %8s ran %s\n", pid, ppid, execname, curpsinfo->pr_psargs);
}

syscall::write:entry
/execname == "sh" && arg0 == 1/
{
	self->text = copyinstr(arg1, arg2 < 40 ? arg2 + 1 : 40);
	printf("%5d %5d %8s wrote %S\n", pid, ppid, execname, self->text);
	self->text = 0;
}
