kinst::a:return, kinst::b:entry, kinst::c:entry /pid/ { if (cpu == 1) printf("%d", cpu); }
