kinst::aliased:entry { trace(1); }
