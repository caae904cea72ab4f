struct a`b { int x; }; BEGIN { }
