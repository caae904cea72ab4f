BEGIN { @a[execname] = count(); printa("%d %@d", @a); }
