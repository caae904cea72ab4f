/*
 * frames.c: getppid, called from middle(), which main() calls; with frame pointers.
 */
#include <sys/syscall.h>

#define FRAMES __attribute__((noinline, optimize("no-omit-frame-pointer")))

static long FRAMES middle(void)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"((long)SYS_getppid) : "rcx", "r11", "memory");
	return ret + 1;
}

int FRAMES main(void)
{
	long n = middle();

	return n < 0;
}
