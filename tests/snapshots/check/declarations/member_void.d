struct s { void v; }; BEGIN { }
