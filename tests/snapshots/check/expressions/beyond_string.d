string s;
BEGIN { s = "abc"; trace(s[256]); }
