BEGIN { print(args); }
