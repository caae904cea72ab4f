BEGIN { trace($$nope); }
