#!/usr/bin/env -S dtrace -s
/*
 * returns.d: how the calls of a function end: where, with which value, and how long they took.
 *
 *	./returns.d FUNCTION [-c COMMAND | -p PID]
 *	./returns.d vfs_read -c 'md5sum /etc/passwd'
 *
 * A line is one exit with one value. EXIT AT is the offset of a `ret` or of a jump to another
 * function (`dtrace --disas FUNCTION`). Compilers often merge several `return` statements into one
 * exit; errpath.d and branches.d distinguish them. Small negative values are error numbers. An error
 * that takes much longer than success waited before it failed. Ends at ^C, or with COMMAND or PID.
 */
#pragma D option quiet
#pragma D option aggsortkey

BEGIN
{
	printf("Watching how %s ends\n", $$1);
}

fbt::$1:entry
/$target == 0 || pid == $target/
{
	self->began = timestamp;
}

fbt::$1:return
/self->began/
{
	this->us = (timestamp - self->began) / 1000;
	@calls[arg0, (int)arg1] = count();
	@average[arg0, (int)arg1] = avg(this->us);
	@longest[arg0, (int)arg1] = max(this->us);
	self->began = 0;
}

END
{
	printf("%8s %12s %10s %12s %12s\n", "EXIT AT", "VALUE", "CALLS", "AVERAGE us",
	    "LONGEST us");
	printa("%8d %12d %@10d %@12d %@12d\n", @calls, @average, @longest);
}
