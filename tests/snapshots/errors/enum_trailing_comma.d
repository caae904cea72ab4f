enum e { A, B, };
