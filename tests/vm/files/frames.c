/*
 * frames.c: getppid, called from middle(), which main() calls, with frame pointers; then it waits briefly, as its
 * functions are symbolized while it exists.
 */
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES __attribute__((noinline, optimize("no-omit-frame-pointer")))

static long FRAMES middle(void)
{
#ifdef __aarch64__
	register long number __asm__("x8") = SYS_getppid;
	register long ret __asm__("x0");

	__asm__ volatile("svc #0" : "=r"(ret) : "r"(number), "r"(__builtin_frame_address(0)) : "memory");
#else
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"((long)SYS_getppid), "r"(__builtin_frame_address(0)) : "rcx", "r11", "memory");
#endif
	return ret + 1;
}

int FRAMES main(void)
{
	long n;

	n = middle();
	usleep(100000);
	return n < 0;
}
