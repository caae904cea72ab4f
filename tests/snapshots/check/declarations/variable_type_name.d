typedef int t; string t; BEGIN { }
