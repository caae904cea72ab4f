#!/usr/sbin/dtrace -s
/* The distance that a disk's head would have to move, by process. */
#pragma D option quiet

self int last[dev_t];

io:::start
/self->last[args[0]->b_edev] != 0/
{
	this->last = self->last[args[0]->b_edev];
	this->dist = (int)(args[0]->b_blkno - this->last) > 0 ? args[0]->b_blkno - this->last : this->last - args[0]->b_blkno;
	@size[pid, curpsinfo->pr_psargs] = quantize(this->dist);
}

io:::start { self->last[args[0]->b_edev] = args[0]->b_blkno + args[0]->b_bcount / 512; }

dtrace:::END { printa("%8d  %s\n%@d\n", @size); }
