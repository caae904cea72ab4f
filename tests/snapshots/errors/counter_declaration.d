counter x;
