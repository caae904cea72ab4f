long struct s *p; BEGIN { }
