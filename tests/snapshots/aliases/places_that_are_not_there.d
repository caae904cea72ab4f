other:::partly
{
	trace(arg0);
}
