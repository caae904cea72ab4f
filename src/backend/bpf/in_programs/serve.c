/* backend/bpf/in_programs/serve.c: a program that is traced: serve PROCESSES-THREADS CALLS
 *
 * It prints the address of work, waits for a line of input, and calls work in each thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

long work(long a, long b, long c, long d, long e, long f, long g, long h);
long choose(long which);
void many(void);

__asm__(".text\n"
	".globl work\n.type work, @function\n"
	"work: push %rbp\n"
	"mov %rsp, %rbp\n"
	".globl work_nop\nwork_nop: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"lea 7(%rdi), %rax\n"
	"pop %rbp\n"
	".globl work_exit\nwork_exit: ret\n"
	".size work, .-work\n"
	/* One way or the other by a flag, then by a pointer in memory. */
	".globl choose\n.type choose, @function\n"
	"choose: test %rdi, %rdi\n"
	".globl choose_branch\nchoose_branch: je 1f\n"
	"lea choose_first(%rip), %rax\n"
	"jmp 2f\n"
	"1: lea choose_other(%rip), %rax\n"
	"2: mov %rax, where(%rip)\n"
	".globl choose_jump\nchoose_jump: jmp *where(%rip)\n"
	".globl choose_first\nchoose_first: mov $1, %eax\n"
	"ret\n"
	".size choose, .-choose\n"
	".globl choose_other\n.type choose_other, @function\n"
	"choose_other: mov $2, %eax\n"
	"ret\n"
	".size choose_other, .-choose_other\n"
	/* Many places. */
	".globl many\n.type many, @function\n"
	"many: .rept 1000\nnop\n.endr\nret\n"
	".size many, .-many\n"
	".local where\n.comm where, 8, 8\n");

static long calls;

static void *run(void *number)
{
	for (long i = 0; i < calls; i++)
		if (work((long)number, 1, 2, 3, 4, 5, 66, 77) != (long)number + 7)
			abort();
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 1;
	pthread_t all[64];

	calls = argc > 2 ? atol(argv[2]) : 1;
	printf("%lu\n", (unsigned long)work);
	fflush(stdout);
	if (getchar() == EOF)
		return 0;
	for (long i = 0; i < threads && i < 64; i++)
		pthread_create(&all[i], NULL, run, (void *)i);
	for (long i = 0; i < threads && i < 64; i++)
		pthread_join(all[i], NULL);
	many();
	for (long i = 0; i < 10; i++)
		if (choose(i % 5) != (i % 5 ? 1 : 2))
			abort();
	return 0;
}
