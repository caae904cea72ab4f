BEGIN
{
	a = b ? c : d ? e : f;
	x = (a, b), c;
	(a = b) + 1;
	a || b ^^ c && d | e ^ f & g == h < i << j + k * l;
	((a || b) ^^ (c && d)) | e;
	a - b - c; a - (b - c); a / b * c; a / (b * c); a % b;
	-a * -b; -(-a); - --a; !!a; ~~a; *&a; &a[1]; **p; (*p).x; *p.x;
	++a; a++; --a; a--; (a++)++; -a++;
	a ? b, c : d; (a ? b : c) ? d : e; a ? b : (c = d);
	x += y -= z; x <<= 1; x >>= 2; x &= 3; x |= 4; x ^= 5; x %= 6; x /= 7; x *= 8;
	(a + b)[c]; (a + b)->c; (-a).b; a.b.c->d.e[f][g, h]
}
