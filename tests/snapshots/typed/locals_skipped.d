/* test: copies, missinglocals: skip */
kinst::submit:90, kinst::resubmit:16 { trace(locals->name); }
kinst::accessed:49, kinst::submit:90 { trace(probename); if (locals->rq.count) trace(1); else { self->x = 1; trace(2); } }
