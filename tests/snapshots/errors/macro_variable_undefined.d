BEGIN { trace($pidd); }
