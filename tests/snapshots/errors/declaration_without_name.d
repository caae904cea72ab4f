int 5;
