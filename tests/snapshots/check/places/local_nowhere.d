/* test: copies, missinglocals */
kinst::submit:90, kinst::resubmit:16 { trace(locals->indices); }
