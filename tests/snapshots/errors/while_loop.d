BEGIN { while (1) { } }
