/* test: kernel */
/* Each description of the first clause has its own args[0]; the pattern matches one function whose types are known. */
fbt::vfs_read:entry,
fbt::narrow:entry
{
	trace(args[0]);
}

fbt::vfs_*:entry
{
	trace(args[0]->f_pos);
}

vfs_read:return
{
	trace(args[1]);
}
