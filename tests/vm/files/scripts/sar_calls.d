#!/usr/sbin/dtrace -s
/* System calls per second, counted like sar. */
#pragma D option quiet

dtrace:::BEGIN { scall = 0; sread = 0; swrit = 0; fork = 0; exec = 0; rchar = 0; wchar = 0; }
syscall:::entry { scall++; }
sysinfo:::sysread { sread += arg0; }
sysinfo:::syswrite { swrit += arg0; }
sysinfo:::sysfork, sysinfo:::sysvfork { fork += arg0; }
sysinfo:::sysexec { exec += arg0; }
sysinfo:::readch { rchar += arg0; }
sysinfo:::writech { wchar += arg0; }
dtrace:::END
{
	printf("%8s %8s %8s %8s %8s %8s %8s\n", "scall", "sread", "swrit", "fork", "exec", "rchar", "wchar");
	printf("%8d %8d %8d %8d %8d %8d %8d\n", scall, sread, swrit, fork, exec, rchar, wchar);
}
