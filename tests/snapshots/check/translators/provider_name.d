provider p1 { probe x(); }; BEGIN { }
