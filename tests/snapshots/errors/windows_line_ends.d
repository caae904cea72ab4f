BEGIN
{
	trace(;
}
