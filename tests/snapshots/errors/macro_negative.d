BEGIN { trace($-1); }
