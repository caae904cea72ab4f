struct s { struct s inner; }; BEGIN { }
