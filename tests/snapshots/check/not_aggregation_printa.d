BEGIN { printa(pid); }
