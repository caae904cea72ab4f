enum { pid }; BEGIN { }
