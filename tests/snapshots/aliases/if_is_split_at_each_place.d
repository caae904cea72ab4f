other:::plain, other:::none
/pid/
{
	if (execname == "sh") {
		trace(probename);
	} else {
		trace(probeprov);
	}
}
