BEGIN { trace(((int *)arg0)->next); }
