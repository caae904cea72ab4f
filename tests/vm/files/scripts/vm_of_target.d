#!/usr/sbin/dtrace -s
/* Memory activity and system calls of a program, every second. */
#pragma D option quiet

inline int OPT_header = 1;

dtrace:::BEGIN
{
	re = 0; maj = 0; mf = 0; fr = 0; sr = 0; cs = 0; sy = 0;
	OPT_header ? printf("%5s %5s %5s %5s %5s\n", "maj", "mf", "sr", "cs", "sy") : 1;
}

vminfo:::maj_fault /pid == $target/ { maj += arg0; }
vminfo:::as_fault /pid == $target/ { mf += arg0; }
vminfo:::scan /pid == $target/ { sr += arg0; }
sysinfo:::pswitch /pid == $target/ { cs += arg0; }
syscall:::entry /pid == $target/ { sy++; }

dtrace:::END
{
	printf("%5d %5d %5d %5d %5d\n", maj, mf, sr, cs, sy);
}
