BEGIN (x) { }
