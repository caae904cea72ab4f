BEGIN { if (x { y; } }
