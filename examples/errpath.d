#!/usr/bin/env -S dtrace -s
/*
 * errpath.d: the path through a function that ended in a given error, branch by branch.
 *
 *	./errpath.d FUNCTION ERROR [-c COMMAND | -p PID]
 *	./errpath.d do_sys_openat2 ENOENT -c 'cat /nowhere'
 *
 * The branches of every call are recorded speculatively and committed only if the call returns
 * -ERROR; the last few branches decided it. `dtrace --disas FUNCTION` shows the source line
 * of each offset. ERROR is a name or a number; functions that return an ERR_PTR() work as well.
 * Ends at ^C, or with COMMAND or PID.
 */
#pragma D option quiet
#pragma D option nspec=64
#pragma D option specsize=64k

BEGIN
{
	printf("Waiting for %s to fail with %s\n", $$1, $$2);
}

fbt::$1:entry
/($target == 0 || pid == $target) && !self->path/
{
	self->path = speculation();
}

fbt::$1:entry
/self->path/
{
	speculate(self->path);
	printf("\n%s(%d) in %s:", execname, pid, probefunc);
}

kinst::$1:*-*
/self->path/
{
	speculate(self->path);
	printf(" %s", probename);
}

fbt::$1:return
/self->path && (int)arg1 == -$2/
{
	speculate(self->path);
	printf(" returns %d at %d\n", (int)arg1, arg0);
}

fbt::$1:return
/self->path && (int)arg1 == -$2/
{
	commit(self->path);
	self->path = 0;
}

fbt::$1:return
/self->path/
{
	discard(self->path);
	self->path = 0;
}
