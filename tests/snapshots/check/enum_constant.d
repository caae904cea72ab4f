enum { A = pid }; BEGIN { }
