#!/usr/sbin/dtrace -s
/* Pages read from disks, by process. */
#pragma D option quiet

vminfo:::pgpgin { @pg[execname] = sum(arg0); }
dtrace:::END { printf("%-16s %16s\n", "CMD", "PAGES IN"); printa("%-16s %@16d\n", @pg); }
