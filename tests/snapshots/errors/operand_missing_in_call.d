BEGIN { trace(1, ); }
