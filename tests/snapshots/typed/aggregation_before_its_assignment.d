BEGIN { printa("%d %@d\n", @a); trunc(@a, 5); @a[pid] = count(); }
