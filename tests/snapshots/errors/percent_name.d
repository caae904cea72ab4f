BEGIN { %error = 1; }
