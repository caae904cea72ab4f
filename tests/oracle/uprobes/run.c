/* tests/oracle/uprobes/run.c: runs a page of a file as code, at a fixed address, and prints the memory that it changes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void *map(uintptr_t at, int protection, int flags, int fd, off_t offset)
{
	void *page = mmap((void *)at, PAGE, protection, MAP_PRIVATE | MAP_FIXED_NOREPLACE | flags, fd, offset);

	if (page != (void *)at)
		_exit(9);
	return page;
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	void *code = map(0x10000000, PROT_READ | PROT_EXEC, 0, fd, strtol(argv[2], NULL, 10) * PAGE);
	uint8_t *state = map(0x20000000, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < PAGE; i++)
		state[i] = i * 7 + 1;
	((uint64_t *)state)[0] = 5;
	((uint64_t *)state)[1] = 3;
	((uint64_t *)state)[2] = 0;
	alarm(5);
	((void (*)(void))code)();
	return write(1, state, PAGE) == PAGE ? 0 : 8;
}
