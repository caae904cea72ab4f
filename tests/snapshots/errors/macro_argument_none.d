BEGIN { trace($$1); }
