kinst::nothing_like_it:entry,
kinst::nothing_like_it:entry { trace(1); }
