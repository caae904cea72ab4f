struct s { };
