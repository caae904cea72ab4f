#!/usr/bin/env -S dtrace -s
/*
 * atline.d: which processes reach a line of the kernel's source, and on which path.
 *
 *	./atline.d FUNCTION LINE [-c COMMAND | -p PID]
 *	./atline.d vfs_read L461                  a line of Linux 6.1
 *	./atline.d vfs_read linux/fs.h@2265       another of 6.1, inlined
 *
 * L461 is line 461 of the file that defines FUNCTION; FILE@LINE is a line of another file whose
 * code is inlined into it. `dtrace --disas FUNCTION` lists the lines of the running kernel; if one
 * has no code, dtrace says which lines around it do. The output is each stack with its process and
 * count, the most frequent last. Ends at ^C, or with COMMAND or PID.
 */
#pragma D option quiet

BEGIN
{
	printf("Waiting at %s:%s\n", $$1, $$2);
}

kinst::$1:$2
/$target == 0 || pid == $target/
{
	@hits[execname, pid, stack()] = count();
}

END
{
	printa("%s(%d)%k%@20d times\n\n", @hits);
}
