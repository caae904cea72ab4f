BEGIN { trace(seen[pid]); }
