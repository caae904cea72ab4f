fbt::f:entry, kinst::g:13 /pid == 1 || uid/ { trace(1); if (x) trace(2); trace(3); }
