kinst::caller:12, kinst::caller: { trace(1); }
