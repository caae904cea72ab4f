/*
 * frames.c: getppid, called from middle(), which main() calls, with frame pointers. It naps before, so that what
 * it has mapped can be looked at.
 */
#include <sys/syscall.h>
#include <time.h>

#define FRAMES __attribute__((noinline, optimize("no-omit-frame-pointer")))

static long FRAMES middle(void)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"((long)SYS_getppid), "r"(__builtin_frame_address(0)) : "rcx", "r11", "memory");
	return ret + 1;
}

int FRAMES main(void)
{
	struct timespec nap = { 0, 300000000 };
	long n;

	nanosleep(&nap, NULL);
	n = middle();
	nanosleep(&nap, NULL);
	return n < 0;
}
