/* test: copies, missinglocals */
kinst::summed:0, kinst::summed:24, kinst::accessed:49 { trace(locals->copy.rows[1]); }
