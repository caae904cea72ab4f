#!/usr/bin/env -S dtrace -s
/*
 * fleet.d: metrics of one machine among many: its disks, its programs, and its network.
 *
 *	./fleet.d -O prom=/var/lib/prometheus/node-exporter/fleet.prom
 *
 * Each aggregation is a metric, and each key a label with the name of its variable; kinst-fleet.service
 * runs this, and dashboard.json shows it. A metric's rows are never cleared: the dashboard computes the
 * rates. A key must have few values: a device, not a process.
 */
#pragma D option quiet

/* As often as the metrics are scraped, or more often. */
#pragma D option aggrate=10s

io:::start
{
	began[arg0] = timestamp;
	device[arg0] = args[1]->dev_statname;
	this->device = args[1]->dev_statname;
	this->op = args[0]->b_flags & B_READ ? "read" : "write";
	@io_bytes[this->device, this->op] = sum((uint64_t)args[0]->b_bcount);
}

/* In nanoseconds, queues included. */
io:::done
/began[arg0]/
{
	this->device = device[arg0];
	this->op = args[0]->b_flags & B_READ ? "read" : "write";
	@io_latency[this->device, this->op] = quantize(timestamp - began[arg0]);
	began[arg0] = 0;
	device[arg0] = 0;
}

proc:::exec-success
{
	@execs = count();
}

mib:::tcpRetransSegs
{
	@tcp_retransmits = count();
}
