/* test: copies */
BEGIN { trace(locals->rq); }
