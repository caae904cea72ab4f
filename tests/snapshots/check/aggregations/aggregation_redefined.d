BEGIN { @a = count(); }
END { @a = sum(pid); }
