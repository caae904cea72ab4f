#pragma D option quiet
struct inner { short d; int e[3]; };
struct pair { int a; char b; long c; struct inner in; };
struct bits { unsigned int x:3; unsigned int y:7; };
self struct pair t;
self struct bits bits;
struct pair some[int, string];
BEGIN
{
	self->t.a = 5; self->t.b = -3; self->t.c = 1 << 40; self->t.in.d = 7; self->t.in.e[1] = 9; self->t.in.e[1] += 2; self->t.in.e[2]--;
	printf("%d %d %d %d %d %d %d\n", self->t.a, self->t.b, self->t.c, self->t.in.d, self->t.in.e[0], self->t.in.e[1], self->t.in.e[2]);
	self->bits.x = 9; self->bits.y = 100; self->bits.y++;
	printf("%d %d\n", self->bits.x, self->bits.y);
}
BEGIN
{
	some[1, "x"].a = 3; some[2, "y"].a = 4; some[1, "x"].c += 10; some[2, "y"].in.e[2]++; some[1, "x"].a *= some[2, "y"].a;
	printf("%d %d %d %d\n", some[1, "x"].a, some[1, "x"].c, some[2, "y"].a, some[2, "y"].in.e[2]);
	some[2, "y"] = some[1, "x"]; some[2, "y"].a++;
	printf("%d %d %d\n", some[1, "x"].a, some[2, "y"].a, some[2, "y"].c);
	some[3, "z"].in = self->t.in; self->t.in.d = some[3, "z"].in.e[1];
	printf("%d %d\n", some[3, "z"].in.e[1], self->t.in.d);
}
BEGIN
{
	this->i = 2; some[this->i - 1, "x"].in.e[this->i] = 6; some[4, "new"].b = -1;
	printf("%d %d %d\n", some[1, "x"].in.e[2], some[4, "new"].b, some[4, "new"].a);
}
BEGIN { print(self->t); exit(0); }
