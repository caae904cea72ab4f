/* test: copies, missinglocals */
kinst::submit:0, kinst::accessed:0 { trace(args[2]); }
