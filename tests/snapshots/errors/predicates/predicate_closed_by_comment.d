BEGIN /pid/* comment */ { trace(1); }
