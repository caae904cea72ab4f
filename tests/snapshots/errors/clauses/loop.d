BEGIN { for (i = 0; i < 10; i++) trace(i); }
