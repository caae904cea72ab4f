struct never n; BEGIN { }
