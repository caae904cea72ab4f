struct point { int x, y; struct point *next; };
typedef struct point point_t;
enum { ONE = 1, TWO, FOUR = TWO * 2 };
inline int two = TWO;
inline int plus[int a, int b] = a + b;
struct info { int pid; string name; };
translator struct info < point_t *p > { pid = p->x; name = "point"; };
inline struct info *inf = xlate <struct info *>((point_t *)arg0);
point_t *p;
self point_t s;
BEGIN { p = (point_t *)arg0; trace(p->next->y); trace(sizeof (point_t)); trace(offsetof(point_t, next)); }
BEGIN { trace(plus[two, FOUR]); trace(inf->pid); trace(inf->name); self->s.y = 3; trace(self->s.y); }
