oth*:::plain, fbt::plain:entry, :::plain
{
	trace(arg0);
	trace(args[0]);
}
