/* test: copies */
kinst::resubmitt:16 { trace(locals->rq); }
