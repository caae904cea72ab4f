BEGIN { @a[pid] = count(); @b[execname] = count(); printa(@a, @b); }
