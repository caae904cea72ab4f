BEGIN { trace(@a = count()); }
