/* test: copies, missinglocals: skip */
kinst::submit:0, kinst::accessed:0 { trace(args[2]); }
kinst::submit:0, kinst::accessed:0 { trace(args[0]); }
