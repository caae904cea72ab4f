BEGIN { @a[pid] = count(); @b = count(); printa(@a, @b); }
