#!/usr/bin/env -S dtrace -s
/*
 * tcplife.d: each TCP connection when it ends: whose it was, how long, how many bytes each way.
 *
 *	./tcplife.d
 *
 * A line is one end of a connection on this machine. The process of an incoming connection is not
 * known when it begins, and is shown as "-". IN and OUT are bytes as counted by the kernel: SYN
 * and FIN are one each. Many short lines to one address are a client without connection pooling;
 * OUT 0 is a refused connection. Ends at ^C.
 */
#pragma D option quiet
#pragma D option switchrate=10hz

BEGIN
{
	printf("%7s %-16s %-24s %-24s %10s %10s %10s\n", "PID", "PROCESS", "LOCAL", "REMOTE", "MS",
	    "IN", "OUT");
}

sdt:::inet_sock_set_state
/args[2] == TCP_STATE_SYN_SENT || args[2] == TCP_STATE_SYN_RECEIVED/
{
	began[arg0] = timestamp;
	/* Incoming packets are handled in whatever process is interrupted. */
	owner[arg0] = args[2] == TCP_STATE_SYN_SENT ? pid : 0;
	name[arg0] = args[2] == TCP_STATE_SYN_SENT ? execname : "-";
}

sdt:::inet_sock_set_state
/args[2] == TCP_STATE_CLOSED && began[arg0]/
{
	this->sock = (struct sock *)arg0;
	this->tcp = (struct tcp_sock *)arg0;
	/* The socket has already released its port; this is the former one. */
	this->port = ntohs(((struct inet_sock *)arg0)->inet_sport);
	this->local = strjoin(xlate <tcpsinfo_t *>(this->sock)->tcps_laddr, strjoin(":",
	    lltostr(this->port)));
	this->port = xlate <tcpsinfo_t *>(this->sock)->tcps_rport;
	this->remote = strjoin(xlate <tcpsinfo_t *>(this->sock)->tcps_raddr, strjoin(":",
	    lltostr(this->port)));
	printf("%7d %-16s %-24s %-24s %10d %10d %10d\n", owner[arg0], name[arg0], this->local,
	    this->remote, (timestamp - began[arg0]) / 1000000, this->tcp->bytes_received,
	    this->tcp->bytes_acked);
	began[arg0] = 0;
	owner[arg0] = 0;
	name[arg0] = 0;
}
