#pragma D option quiet
#pragma D option strsize=12
struct pair { int v[2]; int y; };
int a[4]; int b[4]; int m[2][3]; string s; struct pair p; struct pair u[3]; struct pair by[int];
self int t[2]; this int here[2]; this int next[2];
BEGIN { b[0] = 1; b[3] = 9; a[0] = 5; s = "hello"; p.y = 1; u[2].y = 2; by[1].y = 3; m[1][2] = 8; self->t[1] = 4; i = 6; j = -1; }
BEGIN { a[i] = 79; }
BEGIN { a[j] = 79; }
BEGIN { a[i - 2]++; }
BEGIN { trace(a[i]); }
BEGIN { b[j] += 1; }
BEGIN { x = &a[i]; }
BEGIN { i[a] = 1; }
BEGIN { trace(s[i + 6]); }
BEGIN { p.v[i - 4] = 7; }
BEGIN { u[i - 3].y = 7; }
BEGIN { u[i - 4].v[i - 4] = 7; }
BEGIN { by[1].v[i - 4] = 7; }
BEGIN { m[i - 5][i - 3] = 7; }
BEGIN { m[i - 4][0] = 7; }
BEGIN { self->t[i - 4] = 7; }
BEGIN { this->next[0] = 6; this->here[i - 5] = 7; printf("%d %d\n", this->next[0], this->here[1]); }
BEGIN { this->here[i - 4] = 8; }
BEGIN
{
	printf("%d %d %d %d %s %d\n", a[0], a[i - 3], b[0], b[3], s, s[i - 5]);
	printf("%d %d %d %d %d\n", p.y, u[i - 4].y, by[1].y, m[i - 5][i - 4], self->t[1]);
}
ERROR { printf("fault %d %d\n", arg4, arg5); }
ERROR { errors++; }
BEGIN { c = (char *)alloca(4); d = (char *)alloca(4); d[0] = 65; c[8] = 66; printf("%d\n", d[0]); }
BEGIN { k = strjoin("12345678", "abcdefgh"); n[k] = 1; printf("%d %d %d\n", n["12345678abc"], n["12345678abcdefgh"], n["12345678ab"]); }
BEGIN { trace(*(int *)0); }
BEGIN { printf("%d errors\n", errors); }
BEGIN { exit(3); trace(*(int *)0); }
BEGIN { printf("not begun\n"); }
