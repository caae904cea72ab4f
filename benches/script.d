/*
 * benches/script.d: a typical script of a hundred lines, without kernel types: latencies of a call by process,
 * with a threshold, a histogram and a table at the end.
 */

#pragma D option quiet
#pragma D option strsize=128
#pragma D option aggsortrev

inline int THRESHOLD = 1000000;		/* nanoseconds */
inline string BANNER = "tracing... press Ctrl-C to end";

struct sample {
	uint64_t when;
	uint64_t took;
	int who;
	char what[16];
};

uint64_t seen, slow;
string longest[int];
self uint64_t started;
this uint64_t took;

dtrace:::BEGIN
{
	printf("%s\n", BANNER);
	seen = slow = 0;
	limit = $$1 == "" ? THRESHOLD : strtoll($$1);
	printf("%-20s %8s %-16s %s\n", "TIME", "PID", "COMM", "MS");
}

dtrace:::BEGIN
/limit < 0 || limit > 10 * 1000 * 1000 * 1000/
{
	printf("limit out of range: %d\n", limit);
	exit(1);
}

fbt::vfs_read:entry,
fbt::vfs_write:entry
/pid != $pid && execname != "dtrace"/
{
	self->started = timestamp;
	self->what = probefunc;
	self->bytes = arg2;
	@calls[execname, probefunc] = count();
	@sizes[probefunc] = quantize(arg2);
}

fbt::vfs_read:return,
fbt::vfs_write:return
/self->started/
{
	this->took = timestamp - self->started;
	this->ms = this->took / 1000000;
	this->us = (this->took / 1000) % 1000;
	seen++;

	if (this->took > limit) {
		slow++;
		printf("%-20Y %8d %-16s %d.%03d\n", walltimestamp, pid, execname, this->ms, this->us);
		longest[pid] = strjoin(execname, strjoin(":", self->what));
		@slowest[longest[pid]] = max(this->took);
		@stacks[stack(5)] = count();
	} else if (this->took > limit / 2) {
		@close[execname, self->what] = lquantize(this->ms, 0, 100, 10);
	} else {
		@fine = count();
	}

	@latency[self->what] = quantize(this->took);
	@average[execname] = avg(this->took);
	@spread[execname] = stddev(this->took);
	@bytes[execname] = sum(self->bytes);
	@least = min(this->took);
	@most = max(this->took);

	self->started = 0;
	self->what = 0;
	self->bytes = 0;
}

dtrace:::END
{
	printf("\n%d calls, %d of them slow (%d %%)\n", seen, slow, seen ? slow * 100 / seen : 0);
	trunc(@calls, 10);
	normalize(@bytes, 1024);
	printa("%-16s %-16s %@8u\n", @calls);
	printa("%-16s %@8u kB\n", @bytes);
	printa("%-16s average %@u, spread %@u\n", @average, @spread);
	printa(@latency);
	printa(@sizes);
	printa("least %@u most %@u ns\n", @least, @most);
}

dtrace:::ERROR
{
	printf("fault %d at address 0x%x, DIF offset %d\n", arg4, arg5, arg3);
}
