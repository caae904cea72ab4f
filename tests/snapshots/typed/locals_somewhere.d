/* test: copies, missinglocals */
kinst::submit:90, kinst::resubmit:16 { trace(locals->index); trace(locals->pair.high); trace(locals->name); }
kinst::accessed:49, kinst::submit:90 { trace(locals->rq.count); print(locals->rq); trace(stringof(locals->rq.name)); }
