struct t { int a; int; };
BEGIN { trace(1); }
