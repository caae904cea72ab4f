#!/usr/sbin/dtrace -s
/* The rates of UDP. */
#pragma D option quiet

mib:::udp*Datagrams { @[probename] = sum(arg0); }
dtrace:::END { printa("%-20s %@11d\n", @); }
