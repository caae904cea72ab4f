import x;
