/* test: copies */
kinst::resubmit:16 { trace(locals->kind); }
