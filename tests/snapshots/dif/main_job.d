/* test: stages: typed */
kinst::f:entry
{
        printf("\t%d\t%s", pid, execname);
}
