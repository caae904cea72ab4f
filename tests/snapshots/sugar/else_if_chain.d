syscall:::entry { if (a == 1) trace(1); else if (a == 2) trace(2); else if (a == 3) trace(3); else trace(4); }
