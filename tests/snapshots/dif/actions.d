/* test: stages: typed */
BEGIN
{
        stack(5);
        sym(caller);
        ustack();
        tracemem(arg0, 64, arg1);
        print(pid);
        setopt("quiet", "yes");
        exit(3);
}
