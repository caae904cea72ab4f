BEGIN { stack(5000); }
