/* test: stages: typed */
kinst::f:0
{
        @calls[stack(), execname] = count();
        @sizes["all"] = lquantize(arg1, 0, 4096, 512, 2);
        @linear = llquantize(arg1, 10, 0, 6, 20);
        @[sym(caller)] = max(arg0);
}

END
{
        trunc(@calls, 5);
        normalize(@sizes, 1024);
        printa("%k %-20s %@8u\n", @calls);
        printa(@sizes);
        clear(@calls);
}
