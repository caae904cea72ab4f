/* test: kernel */
fbt::vfs_read:entry
{
	trace(args[0]->f_pos);
	trace(args[2]);
	trace(*args[3]);
}

fbt:vmlinux:narrow:entry
{
	trace(args[0]);
	trace(args[1]);
	trace(args[2] == STATE_RUNNING);
}

fbt::after_pair:entry
{
	trace(args[1]);
	trace(args[3]);
}

fbt::vfs_read:return
{
	trace(args[0]);
	trace(args[1]);
}

fbt::narrow:return
/args[1] > 3/
{
	trace(args[1]);
}

sdt:::opened
{
	trace(args[0]->f_pos);
	trace(args[1]);
}
