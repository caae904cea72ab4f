/* test: copies */
kinst::submit:90 { locals->count = 3; }
