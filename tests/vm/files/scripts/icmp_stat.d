#!/usr/sbin/dtrace -s
/* The messages of ICMP. */
#pragma D option quiet

mib:::icmp* { @icmp[probename] = sum(arg0); }
dtrace:::END { printf("%25s %8s\n", "STATISTIC", "VALUE"); printa("%25s %@8d\n", @icmp); }
