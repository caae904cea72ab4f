kinst::in_twicer:entry { trace(1); }
