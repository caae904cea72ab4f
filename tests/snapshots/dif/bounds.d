/* test: stages: typed */
struct pair { int v[2]; int y; };
int a[4];
struct pair u[3];
struct pair *p;
BEGIN { a[n++] = 1; n = 2; trace(u[n].v[n]); trace(n[a]); trace(p->v[n]); }
