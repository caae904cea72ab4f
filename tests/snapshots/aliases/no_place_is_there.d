other:::nowhere
{
	trace(arg0);
}
