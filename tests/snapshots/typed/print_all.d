/* test: copies */
kinst::resubmit:16 { print(locals); print(args); }
