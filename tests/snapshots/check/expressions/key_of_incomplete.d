BEGIN { @[*(struct never *)curthread] = count(); }
