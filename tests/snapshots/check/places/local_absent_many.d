/* test: copies */
kinst::submit:0, kinst::submit:90, kinst::submit:116, kinst::submit:127, kinst::submit:143 /locals->count > 5/ { trace(locals->count); trace(locals->index); }
