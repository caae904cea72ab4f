/* test: type: foo_t pid_t */
int x;
self int y;
this string s, t;
int a[int, string];
self pid_t b[struct file *, foo_t];
foo_t *p;
foo_t*q;
unsigned long long n;
char buf[16], *c, **d, *e[4], (*f)[4];
extern int printk(const char *, int);
const volatile int v;
struct file *fp;
int w[2 + 2];
string str;
foo_t foo_t;
BEGIN { x = y; foo_t = 1; }
