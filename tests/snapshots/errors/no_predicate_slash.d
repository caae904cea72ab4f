BEGIN pid == 1 { }
