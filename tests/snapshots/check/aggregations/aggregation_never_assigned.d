BEGIN { clear(@a); @b = count(); }
END { @a = count(); }
