BEGIN { x = 1; }
END { x = execname; }
