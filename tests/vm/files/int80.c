/*
 * int80.c: system calls through the 32-bit interface, made by a 64-bit program.
 *
 *   int80 N    N calls of number 20, which is getpid there and writev here; it prints the last result
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0, ret = 0;

	while (n--)
		__asm__ volatile("int $0x80" : "=a"(ret) : "0"(20L) : "r8", "r9", "r10", "r11", "memory");
	/* One call through the 64-bit interface shows that the program is traced at all. */
	printf("%s\n", ret == getppid() ? "?" : ret == getpid() ? "the same" : "another");
	return 0;
}
