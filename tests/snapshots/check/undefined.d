BEGIN { trace(execnam); }
