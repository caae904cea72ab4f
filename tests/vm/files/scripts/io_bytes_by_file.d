#!/usr/sbin/dtrace -s
/* Bytes of disks, by process and file. */
#pragma D option quiet

io:::start { @files[pid, execname, args[2]->fi_pathname] = sum(args[0]->b_bcount); }

dtrace:::END
{
	printf("%6s %-12s %8s %s\n", "PID", "CMD", "KB", "FILE");
	normalize(@files, 1024);
	printa("%6d %-12.12s %@8d %s\n", @files);
}
