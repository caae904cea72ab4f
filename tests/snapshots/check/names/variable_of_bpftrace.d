BEGIN { trace(comm); }
