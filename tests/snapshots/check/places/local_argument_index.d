/* test: copies */
kinst::submit:0 { trace(args[3]); }
