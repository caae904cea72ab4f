#!/usr/sbin/dtrace -s
/* The positions of requests on the disk, in parts of 10 MB. */
#pragma D option quiet

io:::start { this->mb = args[0]->b_blkno * 512 / 1048576; @block[args[1]->dev_statname] = lquantize(this->mb, 0, 1000, 10); }
dtrace:::END { printa("Disk: %s\n%@d\n", @block); }
