#!/usr/sbin/dtrace -qCs
/*
   * A header
      * of two
 */
#pragma D option quiet
#pragma   D option   strsize=1k
#include <sys/types.h>
#define FOO(x) \
   ((x)+1)
typedef struct foo{int a;char *b;struct{int x:3;}c;unsigned d:5;}foo_t; /* trail */
enum color {RED,GREEN=5,/* g */BLUE};
inline int MAXX=10;
self int x;   this string s;
translator foo_t<struct bar*B>{a=1;b=(char*)B;};
provider p{probe a(int x,char*y):(int x);probe b();probe c(int n)="a::b:c","d::e:f"if(arg0>1&&-arg1)(arg0,-1),"g::h:i"(2);probe d(void)="none";};
dtrace:::BEGIN{printf("hi%d\n",FOO(3));x=$1+ -y;z=- -x;w= a* *p;/* end */}
syscall::open*:entry,syscall::openat:entry/* which */
/execname!="dtrace"&&( arg0==1||(int)arg1/2==3 )/
{self->fd=arg0;this->p=(foo_t*)copyin(arg0,sizeof(foo_t));
  
  
  @a[execname,this->p->a]=quantize((timestamp-self->ts)/1000);
  if(x)y=1;else if(y){z=1;/* in */}else{
  /* own */
  w=2}
  printf("%s %d %d %d %d %d %d this is a rather long format string that will not fit", execname, pid, tid, uid, gid, ppid, self->fd->foo.bar);
  x=a?b:c;y=locals->$1 .count+locals->$2;x++;--y;*p=&q;~x;!x;trace(a[1,2]);xlate<foo_t*>(p)->a; sizeof x; stringof(y);
}
profile:::tick-1sec
/ *p /
{}


/* last */

