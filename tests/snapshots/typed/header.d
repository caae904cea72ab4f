# 1 "script.d"
# 1 "/usr/include/c.h" 1 3 4
typedef unsigned int pid_t;
typedef __signed__ char int8_t;
typedef unsigned long int size_t;
typedef void (*list_head)(int);
extern int index(const char *__s, int) __attribute__ ((__nothrow__));
static inline __attribute__((always_inline)) int
# 9 "/usr/include/c.h" 3 4
twice(int x)
{
 while (x == '}') x = x * 2;
 return x;
}
# 1 "/usr/include/d.h" 1 3 4
enum { SIGHUP = 1, SOCK_STREAM = 1, LAST = 1u << 31, WIDE = 0xfULL << 32, };
__extension__ struct event { int counter; long self; } __attribute__((packed));
struct around { char c; struct event e; char name[]; };
# 20 "/usr/include/c.h" 2 3 4
struct overlay { int a; union { int b; struct { short c, d; }; }; char end[0]; };
# 3 "script.d" 2
struct own { char c; long n; union { int u; char v; }; };
BEGIN
{
	trace(offsetof(struct event, self) + sizeof (struct event) + sizeof (struct around) * 100 + sizeof (struct overlay) * 10000);
	trace(offsetof(struct around, e) + offsetof(struct overlay, d) * 100);
	trace(sizeof (struct own) + offsetof(struct own, v) * 100);
	trace(LAST);
	trace(WIDE);
	trace(index("abc", "c") + SIGHUP);
	trace((pid_t)-1);
}
