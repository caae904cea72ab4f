BEGIN { trace('); }
