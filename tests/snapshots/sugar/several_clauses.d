BEGIN { trace(0); }
tick-1s { if (a) trace(1); }
tick-2s { if (b) trace(2); }
END /c/ { trace(3) }
