BEGIN { @a = count(); normalize(@a, execname); }
