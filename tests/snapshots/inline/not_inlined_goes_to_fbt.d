kinst::caller:entry { trace(1); }
