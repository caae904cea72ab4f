BEGIN { printa(@); }
