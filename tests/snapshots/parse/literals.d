BEGIN
{
	trace(0); trace(017); trace(0x1F); trace(0XffUL); trace(42u); trace(42LL); trace(18446744073709551615u);
	trace('a'); trace('\n'); trace('ab'); trace('\''); trace('\0'); trace('12345678'); trace('\x41');
	trace(""); trace("a\tb\\c\"d"); trace("\x41\101\q"); trace("ünï"); trace("/* no comment */"); trace("'")
}
