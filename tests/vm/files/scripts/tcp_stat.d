#!/usr/sbin/dtrace -s
/* The rates of TCP. */
#pragma D option quiet

dtrace:::BEGIN { TCP_out = 0; TCP_outRe = 0; TCP_in = 0; TCP_conns = 0; lines = 0; }
mib:::tcpOutDataBytes { TCP_out += arg0; }
mib:::tcpRetransSegs { TCP_outRe += arg0; }
mib:::tcpInSegs { TCP_in += arg0; }
mib:::tcpActiveOpens, mib:::tcpPassiveOpens { TCP_conns += args[0]; }
dtrace:::END { printf("%11s %11s %11s %11s\n", "TCP_out", "TCP_outRe", "TCP_in", "TCP_conns"); printf("%11d %11d %11d %11d\n", TCP_out, TCP_outRe, TCP_in, TCP_conns); }
