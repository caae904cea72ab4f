/* counting.c: a program that counts its own calls, for the providers of programs: copies, threads, fork, exec, signals. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct node {
	int key;
	const char *name;
	struct node *next;
};

static unsigned long weighed;
static volatile int sink;

/* Inlined into parse() and twice(); each call counts itself. */
static inline __attribute__((always_inline)) int weigh(const struct node *node, int by)
{
	__atomic_fetch_add(&weighed, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < by; i++)
		sink += node->key * i;
	return sink + node->key;
}

__attribute__((noinline)) int parse(const char *text, const struct node *node)
{
	if (!text[0])
		return -1;
	return weigh(node, 3) + (int)strlen(text);
}

__attribute__((noinline)) int twice(const struct node *node, int number)
{
	if (number & 1)
		return weigh(node, number) * 2;
	return weigh(node, 7) - 1;
}

static struct node first = { 5, "alpha", NULL }, second = { 7, "beta", &first };

static void *work(void *times)
{
	for (long i = 0; i < (long)times; i++) {
		sink += parse(i % 3 ? "ab" : "", &second);
		sink += twice(&first, (int)i);
	}
	return NULL;
}

static sigjmp_buf back;

static void on_signal(int signal)
{
	(void)signal;
	sink += twice(&second, 1);
	siglongjmp(back, 1);
}

static void threads(int count, long times)
{
	pthread_t all[64];

	for (int i = 0; i < count; i++)
		pthread_create(&all[i], NULL, work, (void *)times);
	for (int i = 0; i < count; i++)
		pthread_join(all[i], NULL);
}

#ifdef __aarch64__
/* A leaf that keeps a value on the stack around a nop, which is its second instruction. */
long leaf(long value);
__asm__(".text\n\t.type leaf, %function\nleaf:\n\tstr x0, [sp, #-16]!\n\tnop\n\tldr x0, [sp], #16\n\tret\n\t.size leaf, . - leaf");
#else
/* A leaf that keeps a value below the stack pointer around a nop of five bytes. */
__attribute__((naked, noinline)) long leaf(long value)
{
	(void)value;
	__asm__("mov %rdi, -8(%rsp)\n\t.byte 0x0f, 0x1f, 0x44, 0, 0\n\tmov -8(%rsp), %rax\n\tret");
}
#endif

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long times = argc > 2 ? atol(argv[2]) : 10;

	if (!strcmp(what, "threads")) {
		threads(argc > 3 ? atoi(argv[3]) : 4, times);
	} else if (!strcmp(what, "fork")) {
		if (fork() == 0) {
			work((void *)times);
			_exit(0);
		}
		wait(NULL);
		work((void *)times);
	} else if (!strcmp(what, "exec")) {
		work((void *)times);
		execl(argv[0], argv[0], "plain", argv[2], NULL);
	} else if (!strcmp(what, "signal")) {
		signal(SIGUSR1, on_signal);
		for (volatile long i = 0; i < times; i++)
			if (!sigsetjmp(back, 1))
				raise(SIGUSR1);
	} else if (!strcmp(what, "leaf")) {
		long wrong = 0;

		for (long i = 1; i <= times; i++)
			wrong += leaf(i) != i;
		printf("wrong %ld\n", wrong);
	} else if (!strcmp(what, "wait")) {
		char line[16];

		while (fgets(line, sizeof(line), stdin))
			work((void *)times);
	} else {
		work((void *)times);
	}
	printf("weighed %lu\n", weighed);
	return 3;
}
