BEGIN { @a[stack()] = count(); }
END { @a[pid] = count(); }
