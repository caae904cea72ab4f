#!/usr/sbin/dtrace -s
/* Each disk request: its start, its duration, and its process. The completion is matched by device and block. */
#pragma D option quiet
#pragma D option switchrate=10hz

dtrace:::BEGIN
{
	printf("%-8s %6s %-12s %-10s %1s %10s %8s  %s\n", "DELTA", "PID", "COMM", "DEVICE", "D", "BLOCK", "SIZE", "PATHNAME");
	start_time[0, 0] = 0;
}

io:::start
{
	this->dev = args[0]->b_edev;
	this->blk = args[0]->b_blkno;
	start_time[this->dev, this->blk] = timestamp;
	start_pid[this->dev, this->blk] = pid;
	start_comm[this->dev, this->blk] = execname;
}

io:::done
/start_time[args[0]->b_edev, args[0]->b_blkno]/
{
	this->dev = args[0]->b_edev;
	this->blk = args[0]->b_blkno;
	this->delta = (timestamp - start_time[this->dev, this->blk]) / 1000;
	printf("%-8d %6d %-12s %-10s %1s %10d %8d  %s\n", this->delta, start_pid[this->dev, this->blk],
	    start_comm[this->dev, this->blk], args[1]->dev_statname, args[0]->b_flags & B_READ ? "R" : "W", this->blk,
	    args[0]->b_bcount, args[2]->fi_pathname);
	start_time[this->dev, this->blk] = 0;
	start_pid[this->dev, this->blk] = 0;
	start_comm[this->dev, this->blk] = 0;
}
