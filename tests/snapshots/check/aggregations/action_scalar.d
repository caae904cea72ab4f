BEGIN { @a = count(); trunc(@a, execname); }
