#!/usr/bin/env -S dtrace -s
/*
 * values.d: the values of a variable at an instruction or a line of a kernel function.
 *
 *	./values.d FUNCTION PLACE VARIABLE [-c COMMAND | -p PID]
 *	./values.d vfs_read 0 count -c 'md5sum /etc/passwd'
 *	./values.d vfs_read L461 count    a line of Linux 6.1
 *
 * PLACE is an offset from `dtrace --disas FUNCTION`, or a line as in atline.d. VARIABLE is any
 * parameter or variable in scope there, including those of inlined functions, that is a number or a
 * pointer. Where the compiler did not keep it, dtrace refuses and says where the variable is live.
 * The output is each value by process, then the distribution. Ends at ^C, or with COMMAND or PID.
 */
#pragma D option quiet

BEGIN
{
	printf("Reading %s at %s:%s\n", $$3, $$1, $$2);
}

kinst::$1:$2
/$target == 0 || pid == $target/
{
	this->value = (int64_t)locals->$3;
	@each[execname, this->value, this->value] = count();
	@spread[execname] = quantize(this->value);
}

END
{
	printf("%-16s %20s %18s %10s\n", "PROCESS", "VALUE", "HEX", "TIMES");
	printa("%-16s %20d %18x %@10d\n", @each);
	printa("%s%@d\n", @spread);
}
