/*
 * deep.c: getppid, called through first(), second() and third(), none of which has a frame pointer.
 *
 *   deep plain N      from main(), N times, with other words on the stack each time
 *   deep thread       from a thread
 *   deep signal       from a handler of a signal that it sends to itself
 *   deep made         through code without a file, which has a frame pointer
 *   deep DEPTH        below DEPTH calls of again()
 *
 * Then it waits briefly, as its mappings are read while it exists.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALONE __attribute__((noipa))

static long ALONE third(long n)
{
	volatile char room[200];

	memset((char *)room, n, sizeof(room));
	return syscall(SYS_getppid) + room[n % 200];
}

static long ALONE second(long n)
{
	volatile long word = n;

	return third(word) + word;
}

static long ALONE first(long n)
{
	return second(n + 1) + n;
}

static long ALONE again(long depth)
{
	volatile long words[8] = { depth };

	return (depth > 1 ? again(depth - 1) : first(depth)) + words[0];
}

static void *thread(void *n)
{
	return (void *)(first((long)n) + 1);
}

static void ALONE handler(int signal)
{
	volatile long result = first(signal);

	(void)result;
}

#ifdef __aarch64__
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x1; ldp x29, x30, [sp], #16; ret */
static const unsigned int code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0 };
#else
/* push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 };
#endif

static long ALONE made(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -1;
	memcpy(page, code, sizeof(code));
	__builtin___clear_cache(page, (char *)page + sizeof(code));
	return ((long (*)(long, long (*)(long)))page)(1, first) + 1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	long i, sum = 0;
	pthread_t id;

	if (!strcmp(how, "plain")) {
		for (i = 0; i < atol(argv[2]); i++)
			sum += first(i % 100);
	} else if (!strcmp(how, "thread")) {
		if (pthread_create(&id, NULL, thread, (void *)1) || pthread_join(id, NULL))
			return 1;
	} else if (!strcmp(how, "signal")) {
		signal(SIGUSR1, handler);
		raise(SIGUSR1);
	} else if (!strcmp(how, "made")) {
		sum += made();
	} else {
		sum += again(atol(how));
	}
	usleep(300000);
	return sum < 0;
}
