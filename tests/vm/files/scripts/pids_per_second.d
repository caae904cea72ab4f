#!/usr/sbin/dtrace -s
/* New processes per second. */
#pragma D option quiet

proc:::exec-success { @num = count(); }
syscall::exit*:entry { @ends = count(); }
dtrace:::END { printa("%@d processes, %@d ends\n", @num, @ends); }
