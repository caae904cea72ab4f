inline int OPT_time = 1;
inline int OPT_name = OPT_time == 2;
inline int OPT_wide = 300;
inline char OPT_cut = 256;
dtrace:::BEGIN
{
	OPT_time ? printf("%-14s ", "TIME") : 1;
	OPT_name ? printf("%-16s ", "NAME") : 1;
	OPT_wide > 256 && !OPT_name ? printf("wide\n") : printf("narrow\n");
	OPT_name ? printf("a") : OPT_time ? printf("b") : printf("c");
	OPT_name ? 1 : (@[probename] = count());
	x = OPT_time ? 1 : 2;
}

tick-1s
/OPT_time ? x : y/
{
	x == 1 ? printf("one") : 1;
	x == 2 ? 1 : printf("not two");
	x == 3 ? printf("three") : x == 4 ? (@[x] = count()) : trace(x);
	OPT_cut ? trace(1) : trace(2);
	if (x)
		OPT_time ? exit(0) : 1;
}
