BEGIN { freopen("dtrace_freopen_restore_stdout"); }
