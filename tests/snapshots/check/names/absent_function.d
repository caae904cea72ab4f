BEGIN { trace(getf(0)); }
