#!/usr/sbin/dtrace -s
/* How sequential disk requests are. */
#pragma D option quiet

uint64_t last_loc[string];

dtrace:::BEGIN { bytes = 0; rnd = 0; seq = 0; count_r = 0; }

io:::start
/args[0]->b_flags & B_READ/
{
	this->loc = args[0]->b_blkno * 512;
	this->pos = last_loc[args[1]->dev_statname];
	rnd += this->loc == this->pos ? 0 : 1;
	seq += this->loc == this->pos ? 1 : 0;
	bytes += args[0]->b_bcount;
	count_r++;
	last_loc[args[1]->dev_statname] = this->loc + args[0]->b_bcount;
	@min = min(args[0]->b_bcount);
	@max = max(args[0]->b_bcount);
	@avg = avg(args[0]->b_bcount);
}

dtrace:::END
{
	printf("%4s %4s %8s %8s\n", "%RAN", "%SEQ", "COUNT", "KR");
	this->all = rnd + seq ? rnd + seq : 1;
	printf("%4d %4d %8d %8d\n", rnd * 100 / this->all, seq * 100 / this->all, count_r, bytes / 1024);
	printa("min %@d max %@d avg %@d\n", @min, @max, @avg);
}
