BEGIN { @a = pid; }
