/* test: stages: typed */
BEGIN
{
        trace((char)arg0);
        trace((uint16_t)(arg0 + 1));
        printf("%*d %hd %llx %c %Y %a %p %-10s|%5.2s", 8, arg0, (short)arg1, timestamp, 'x', walltimestamp, caller, arg2, execname, probefunc);
        trace(lltostr(pid));
        trace(stringof((char *)arg0));
        trace(1 + 2 * 3 << 4);
}
