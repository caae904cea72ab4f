/* test: copies, missinglocals: skip */
kinst::submit:90, kinst::resubmit:16 { trace(locals->index); }
