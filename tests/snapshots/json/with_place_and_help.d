BEGIN
{
	trace($pidd);
}
