kinst::f:0 { trace(regs[pid]); }
