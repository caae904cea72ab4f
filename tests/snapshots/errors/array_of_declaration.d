int a[4;
