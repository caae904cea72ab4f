BEGIN { @a[stack(5)] = count(); }
END { @a[stack(6)] = count(); }
