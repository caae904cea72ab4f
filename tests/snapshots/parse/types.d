/* test: type: kernel_t */
struct point {
	int x, y;
	unsigned int flags : 3, : 5, more : sizeof (int);
	struct { char *name; union { long l; char c[8]; } u; } inner;
	struct point *next;
	int (*call)(struct point *, int n, ...);
	kernel_t kernel_t, foo;
};
union u;
enum colour { RED, GREEN = 4, BLUE = RED + (1 << 3), kernel_t };
typedef struct point point_t, *point_p;
typedef int foo;
typedef struct { foo foo; } holder_t;
enum { ALONE } e;
struct point p, *q;
holder_t h;
point_t *r;
self point_t s;
int a[point_p, struct { int k; } *];
typedef unsigned long ulong_type;
BEGIN { this->x = (point_t *)arg0; this->y = sizeof (struct { int a; }); h = *(holder_t*)arg1; foo = 1; }
