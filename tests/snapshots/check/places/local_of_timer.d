/* test: copies */
profile:::tick-1sec { trace(locals->rq); }
