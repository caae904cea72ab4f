BEGIN
{
		trace(1)	+	;
}
