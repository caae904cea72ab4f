/* test: args: 1 0 */
inline int OPT_time = $1;
inline int OPT_dump = $2;
inline string NAME = "sh";
dtrace:::BEGIN
{
	OPT_time ? printf("%-14s ", "TIME") : 1;
	OPT_dump ? printf("%s\n", nobody_has_this) : 1;
	self->size = OPT_dump ? nor_this : sizeof (long);
	OPT_dump == 2 && NAME == execname ? trace(1) : trace("two");
	printf("%s\n", OPT_dump ? 1 : "text");
}
