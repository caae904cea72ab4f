// SPDX-License-Identifier: GPL-2.0
/*
 * textpoke.c: perf's records of changes to the kernel's text while a command runs, in the guest.
 *
 *   textpoke ADDRESS COMMAND...   prints the number of records of the first CPU's changes, and the one-byte changes at
 *                                 the address, as OLD NEW
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 64

struct text_poke {
	struct perf_event_header header;
	uint64_t addr;
	uint16_t old_len, new_len;
	uint8_t bytes[];
};

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
					.text_poke = 1 };
	uint64_t wanted = argc > 2 ? strtoull(argv[1], NULL, 16) : 0, at;
	struct perf_event_mmap_page *meta;
	unsigned long records = 0, len;
	cpu_set_t first;
	char *data;
	int fd, cpu;
	pid_t pid;

	/* The event records only the changes made by its own CPU. */
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	cpu = argc > 2 ? sched_setaffinity(0, sizeof(first), &first) : -1;
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	meta = mmap(NULL, (PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (cpu || fd < 0 || meta == MAP_FAILED) {
		fprintf(stderr, "textpoke: %s\n", strerror(errno));
		return 2;
	}
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	sleep(1);
	data = (char *)meta + meta->data_offset;
	for (at = meta->data_tail; at < meta->data_head && at < meta->data_size; at += len) {
		const struct text_poke *r = (void *)(data + at);

		len = r->header.size;
		if (r->header.type != PERF_RECORD_TEXT_POKE)
			continue;
		records++;
		if (r->addr == wanted && r->old_len == 1 && r->new_len == 1)
			printf("%02x %02x\n", r->bytes[0], r->bytes[1]);
	}
	printf("records %s\n", records ? "some" : "none");
	return 0;
}
