enum e { A, B };
