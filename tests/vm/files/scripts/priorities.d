#!/usr/sbin/dtrace -s
/* The priorities of running threads. */
#pragma D option quiet

profile:::profile-1001hz { @count[execname] = lquantize(curlwpsinfo->pr_pri, 0, 170, 10); }
dtrace:::END { printa("%s\n%@d\n", @count); }
