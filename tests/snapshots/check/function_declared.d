int f(int); BEGIN { }
