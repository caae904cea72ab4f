/*
 * soup.c: bad input for /dev/dtrace/kinst: soup SECONDS [SEED]
 *
 * Valid images with a few bytes changed, ioctls with nonsensical sizes and addresses,
 * ioctls in any order and from two threads, and every kind of mmap. The same seed
 * gives the same calls, except for the threads. The kernel must survive them; the
 * program only checks that there were both refusals and successes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "../../../kmod/tests/image_builder.h"
#include "../../../kmod/tests/vm/kallsyms.h"

static uint64_t state;
static unsigned long loads, loaded, refused, maps, mapped, calls;

static uint32_t rnd(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

/* A size or an offset near a boundary, or any number. */
static uint64_t odd(void)
{
	static const uint64_t edges[] = { 0, 1, 7, 8, 4095, 4096, 65536, 1 << 20, 0x7fffffff, 0x80000000,
					  0xffffffff, 1ull << 40, 1ull << 63, ~0ull, ~0ull << 12, 0xffffffff81000000 };

	return rnd(4) ? edges[rnd(16)] + rnd(3) - 1 : (uint64_t)rnd(~0u) << 32 | rnd(~0u);
}

/* The address of a function, for probes that can be armed. */
static uint64_t function(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], symbol[256];
	unsigned long long addr;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %255s", &addr, symbol) == 2 && !strcmp(symbol, name)) {
			fclose(f);
			return addr;
		}
	}
	perror(name);
	exit(2);
}

static uint64_t places[2];

/* A clause with actions of all kinds, at BEGIN, END and two places in the kernel. */
static void *image(uint32_t *len)
{
	struct kinst_probe p = { 0 };
	struct ib b;
	uint32_t i, clause, w[] = { I_SETX(0, 1), I_SETS(1, 2), I_PUSHV(1), I_PUSHS(2), I_SETX(0, 3), I_RET(1) };
	uint64_t one = 1;

	ib_init(&b);
	ib_user_var(&b, 0x500, 0, 1, T_INT(8));
	ib_user_var(&b, 0x501, 1, 0, T_STRING);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, w, 6, &one, 1, "\0ab", 4, T_INT(8)), 0);
	ib_act(&b, KINST_ACT_PRINTF, ib_string(&b, "hello"), 1);
	ib_act(&b, KINST_ACT_STACK, KINST_NONE, 3);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 1, 4), 0);
	ib_agg(&b, KINST_ACT_QUANTIZE, 1, 1, ib_const(&b, 1, 8), 0);
	ib_agg(&b, KINST_ACT_COUNT, 2, 0, KINST_NONE, 0);
	clause = ib_clause(&b, ib_const(&b, 1, 4), 0);
	ib_ecb(&b, ib_probe(&b, KINST_P_BEGIN, "BEGIN"), clause);
	ib_ecb(&b, ib_probe(&b, KINST_P_END, "END"), clause);
	for (i = 0; i < 2 && !rnd(3); i++) { /* not always, as unregistering them is slow */
		p = (struct kinst_probe){ .kind = i ? KINST_P_FBT_RETURN : KINST_P_INSN, .func = places[i] };
		p.id = 3 + i;
		p.prov = p.name = ib_str(&b, "kinst");
		ib_ecb(&b, ib_add(&b, IB_PROBES, &p, 1), clause);
	}
	for (i = 0; i < rnd(4); i++) {
		p = (struct kinst_probe){ .kind = KINST_P_PROFILE + rnd(6), .id = 10 + i };
		p.func = p.kind <= KINST_P_TICK ? KINST_MIN_INTERVAL * (1 + rnd(1000)) : rnd(12);
		p.prov = p.name = ib_str(&b, "source");
		ib_ecb(&b, ib_add(&b, IB_PROBES, &p, 1), clause);
	}
	return ib_finish(&b, len);
}

static void spoil(uint8_t *bytes, uint32_t len)
{
	uint32_t n = rnd(4), at;

	for (; n; n--) {
		uint64_t value = odd();

		at = rnd(3) ? rnd(len) : rnd(sizeof(struct kinst_image));
		if (rnd(2))
			bytes[at] = value;
		else if (at / 4 * 4 + 4 <= len)
			memcpy(bytes + at / 4 * 4, &value, 4);
	}
}

static void load(int fd, int good)
{
	static struct kinst_result results[65536];
	uint32_t len;
	uint8_t *bytes = image(&len);
	uint32_t count = ((struct kinst_image *)bytes)->probes.count;
	struct kinst_load l = { .image = (uintptr_t)bytes, .results = (uintptr_t)results, .image_len = len,
				.nresults = count };

	if (!good) {
		spoil(bytes, len);
		if (!rnd(16))
			l.image_len = odd();
		if (!rnd(16))
			l.image = odd();
		if (!rnd(16))
			l.nresults = odd();
		if (!rnd(16))
			l.results = odd();
	}
	loads++;
	if (!ioctl(fd, KINST_IOC_LOAD, &l))
		loaded++;
	else
		refused++;
	free(bytes);
}

static void query(int fd)
{
	static uint8_t buf[1 << 20];
	struct kinst_aggsnap snap = { .buf = rnd(4) ? (uintptr_t)buf : odd(), .size = rnd(4) ? sizeof(buf) : odd(),
				      .cpu = rnd(4) ? rnd(2) : odd() };
	struct kinst_insns insns = { .func = rnd(2) ? places[rnd(2)] + rnd(8) : odd(), .buf = rnd(4) ? (uintptr_t)buf : odd(),
				     .count = rnd(4) ? 1000 : odd() };
	struct kinst_syscalls calls = { .buf = rnd(4) ? (uintptr_t)buf : odd(), .count = rnd(4) ? 1000 : odd(),
					.reserved = rnd(8) ? 0 : odd() };

	/* Calls with our own buffer must not write beyond it. */
	if (snap.size > sizeof(buf) && snap.buf == (uintptr_t)buf)
		snap.size = sizeof(buf);
	if (insns.count > 10000 && insns.buf == (uintptr_t)buf)
		insns.count = 10000;
	ioctl(fd, KINST_IOC_AGGSNAP, &snap);
	if (calls.count > 10000 && calls.buf == (uintptr_t)buf)
		calls.count = 10000;
	ioctl(fd, KINST_IOC_INSNS, &insns);
	ioctl(fd, KINST_IOC_SYSCALLS, &calls);
}

static void map(int fd)
{
	static const int prots[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC, PROT_NONE, PROT_WRITE };
	size_t pages = rnd(2) ? 1 : rnd(3) ? 1 + rnd(20) : 1 + rnd(5000);
	uint64_t offset = rnd(4) ? ((uint64_t)rnd(3) * KINST_RING_PAGES + rnd(3)) * 4096 : odd() & ~4095ull;
	int prot = prots[rnd(5)];
	volatile uint8_t *at = mmap(NULL, pages * 4096, prot, rnd(4) ? MAP_SHARED : MAP_PRIVATE, fd, offset);

	maps++;
	if (at == MAP_FAILED)
		return;
	mapped++;
	if (prot & PROT_READ)
		(void)at[rnd(pages * 4096)];
	if (prot & PROT_WRITE)
		*(volatile uint64_t *)at = odd(); /* a wrong position from the consumer */
	/* Read-only mappings stay read-only; the consumer's page may become writable again. */
	mprotect((void *)at, 4096, PROT_READ | PROT_WRITE);
	if (rnd(8))
		munmap((void *)at, pages * 4096);
}

static void *meddle(void *arg)
{
	int fd = *(int *)arg, i;

	for (i = 0; i < 50; i++) {
		struct kinst_status st;

		ioctl(fd, KINST_IOC_STATUS, &st);
		ioctl(fd, i & 1 ? KINST_IOC_GO : KINST_IOC_STOP);
	}
	return NULL;
}

static void session(void)
{
	int fd = open("/dev/dtrace/kinst", O_RDWR | O_CLOEXEC), n = 1 + rnd(12);
	pthread_t thread;
	int threads = !rnd(4);

	if (fd < 0) {
		perror("/dev/dtrace/kinst");
		exit(2);
	}
	if (threads)
		threads = !pthread_create(&thread, NULL, meddle, &fd);
	if (rnd(2))
		load(fd, 1);
	for (; n; n--, calls++) {
		switch (rnd(8)) {
		case 0: case 1: load(fd, 0); break;
		case 2: ioctl(fd, KINST_IOC_GO); break;
		case 3: ioctl(fd, KINST_IOC_STOP); break;
		case 4: query(fd); break;
		case 5: ioctl(fd, rnd(2) ? odd() : KINST_IOC_LOAD, odd()); break;
		default: map(fd);
		}
		getppid();
	}
	if (threads)
		pthread_join(thread, NULL);
	close(fd);
}

/* Whether there were enough calls of each kind. */
static int is_rich(void)
{
	return loaded > 20 && refused > 20 && mapped > 5 && maps > mapped;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5;
	time_t end = time(NULL) + seconds;

	state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	places[0] = function(GETPPID);
	places[1] = function("ksys_read");
	/* A slow guest gets more time. */
	while (time(NULL) < end || (!is_rich() && time(NULL) < end + 3 * seconds))
		session();
	fprintf(stderr, "soup: %lu calls; %lu of %lu images loaded; %lu of %lu maps\n", calls, loaded, loads, mapped, maps);
	printf("%s\n", is_rich() ? "soup was rich" : "soup was thin");
	return 0;
}
