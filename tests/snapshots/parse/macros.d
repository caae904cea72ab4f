/* test: args: 12 -5 word foo/bar "a\tb" +7 0x10 */
BEGIN
{
	trace($1); trace($2); trace($3); trace($4); trace($5); trace($6); trace($7);
	trace($$1); trace($$2); trace($$3); trace($$4); trace($$5);
	trace($pid); trace($$pid); trace($target); trace($0); trace($$0); x - $2; 2 * $2;
}
