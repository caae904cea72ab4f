a:b:c:d /x/ { }
BEGIN /x / y/ { }
BEGIN / x / { }
BEGIN /(x / y)/ { trace(x / y / z); }
BEGIN
/execname == "a/b" && pid != $pid/
{
	x /= 2;
}
BEGIN / *p == 1/ { }
