#pragma D option quiet
BEGIN
{
	this->s = "/usr/lib//a/./b/../c.so";
	printf("%s|%s|%s\n", basename(this->s), dirname(this->s), cleanpath(this->s));
	printf("%d %d %d %s %s\n", strlen(this->s), index(this->s, "lib"), rindex(this->s, "/"), strchr(this->s, 'l'), strrchr(this->s, '/'));
	printf("%s %s %s\n", strstr(this->s, "b/.."), substr(this->s, 3), substr(this->s, -4, 2));
	printf("%s %s %s\n", strjoin("abc", this->s), toupper("abcXYZ"), tolower("ABCxyz"));
	printf("%s %s %s %s\n", lltostr(-12), lltostr(255, 16), lltostr(8, 8), lltostr(0, 2));
	printf("%d %d\n", strtoll("  -77x"), strtoll("0xff", 16));
	printf("%s %s\n", strtok("a,b;c", ",;"), strtok(NULL, ",;"));
	printf("%s\n", json("{\"a\": 1, \"b\": {\"c\": [10, {\"d\": \"x y\"}]}}", "b.c[1].d"));
	printf("%s\n", inet_ntoa((ipaddr_t *)alloca(4)));
	self->x = 5; self->s = "thread"; a[1, "x"] = 7; a[2, "y"] = 8; s["k"] = "value";
	g = strjoin(self->s, s["k"]);
	printf("%d %s %d %d %s %s\n", self->x, self->s, a[1, "x"], a[2, "y"], s["k"], g);
	self->s = 0; a[1, "x"] = 0;
	printf("%d %s\n", a[1, "x"], self->s == NULL ? "gone" : "there");
}
BEGIN { printf("%s\n", json("[1,[2,3]]", "[1][0]")); printf("%d\n", "abc" < "abd"); exit(0); }
