#!/usr/sbin/dtrace -s
/* Disk bytes by process, periodically. */
#pragma D option quiet
#pragma D option defaultargs

inline int INTERVAL = $1 ? $1 : 2;
inline int OPT_bytes = 1;
inline int OPT_top = 1;
inline int TOP = 5;

dtrace:::BEGIN
{
	secs = INTERVAL;
	disk_r = 0;
	disk_w = 0;
}

io:::start
{
	OPT_bytes ? 1 : 1;
	this->size = args[0]->b_bcount;
	args[0]->b_flags & B_READ ? disk_r += this->size : (disk_w += this->size);
	@out[uid, pid, execname, args[1]->dev_statname, args[0]->b_flags & B_READ ? "R" : "W"] = sum(this->size);
}

profile:::tick-1sec { secs--; }

profile:::tick-1sec
/secs == 0/
{
	printf("%Y,  disk_r: %6d KB,  disk_w: %6d KB\n\n", walltimestamp, disk_r / 1024, disk_w / 1024);
	printf("%5s %6s %-12s %-10s %1s %12s\n", "UID", "PID", "CMD", "DEVICE", "D", "BYTES");
	OPT_top ? trunc(@out, TOP) : 1;
	printa("%5d %6d %-12s %-10s %1s %@12d\n", @out);
	trunc(@out);
	secs = INTERVAL;
	exit(0);
}
