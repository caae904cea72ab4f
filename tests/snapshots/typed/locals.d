/* test: copies, missinglocals */
kinst::submit:0 { trace(locals->count); trace(args[0][0]); trace(locals->index); }
kinst::submit:90 { trace(locals->rq.flags); trace(locals->rq.count); print(locals->rq); trace(stringof(locals->rq.name)); trace(locals->pair.high); }
kinst::resubmit:16, kinst::resubmit:20, kinst::resubmit:25 { trace(args[0]); trace(locals->task->pid); trace(locals->rq->error); }
kinst::accessed:49 { trace(args[0].pte); trace(args[1]); trace(locals->size); }
fbt::submit:entry { trace(locals->write); }
BEGIN { locals = 3; trace(locals); }
kinst::submit:0 { trace(locals); }
