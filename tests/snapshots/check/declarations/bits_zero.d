struct s { int a : 0; }; BEGIN { }
