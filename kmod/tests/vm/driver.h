/* SPDX-License-Identifier: GPL-2.0 */
/* driver.h: a session from user space, and the loop that runs tests; for the tests in the guest. */
#ifndef _KINST_DRIVER_H
#define _KINST_DRIVER_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../image_builder.h"

static char why[512];

#define FAIL(...) do { snprintf(why, sizeof(why), __VA_ARGS__); return -1; } while (0)
#define CHECK(cond) do { if (!(cond)) FAIL("line %d: %s (errno %d)", __LINE__, #cond, errno); } while (0)

static int allow_refused, refused; /* probes of the last image */
static uint64_t agg_drops; /* of the last snapshot, all CPUs */

/* ---- a session ---- */

#define MAX_CPUS 64

struct session {
	int fd;
	uint32_t ncpus;
	uint64_t size;
	struct kinst_ring_consumer *cons[MAX_CPUS];
	const struct kinst_ring_producer *prod[MAX_CPUS];
	const char *data[MAX_CPUS];
	struct kinst_error error;
};

static inline int open_image(struct session *s, struct ib *b)
{
	struct kinst_info info;
	uint32_t len, nprobes = b->t[IB_PROBES].count, i;
	struct kinst_result *res = calloc(nprobes + 1, sizeof(*res));
	void *image = ib_finish(b, &len);
	struct kinst_load l = { .image = (uintptr_t)image, .image_len = len, .results = (uintptr_t)res,
				.nresults = nprobes };
	int ret;

	memset(s, 0, sizeof(*s));
	s->fd = open(KINST_DEVICE, O_RDWR | O_CLOEXEC);
	CHECK(s->fd >= 0);
	CHECK(!ioctl(s->fd, KINST_IOC_INFO, &info));
	CHECK(info.abi == KINST_ABI_VERSION);
	s->ncpus = info.ncpus < MAX_CPUS ? info.ncpus : MAX_CPUS;
	ret = ioctl(s->fd, KINST_IOC_LOAD, &l);
	s->error = l.error;
	free(image);
	for (i = 0, refused = 0; !ret && i < nprobes; i++) {
		if (res[i].reason && !allow_refused)
			FAIL("probe %u refused: %u", i, res[i].reason);
		refused += res[i].reason != 0;
	}
	free(res);
	if (ret)
		FAIL("LOAD: errno %d, code %u difo %d index %d", errno, l.error.code, l.error.difo, l.error.index);
	for (i = 0; i < s->ncpus; i++) {
		off_t at = (off_t)i * KINST_RING_PAGES * 4096;

		s->cons[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, at);
		s->prod[i] = mmap(NULL, 4096, PROT_READ, MAP_SHARED, s->fd, at + 4096);
		CHECK(s->cons[i] != MAP_FAILED && s->prod[i] != MAP_FAILED);
		s->size = s->prod[i]->size;
		s->data[i] = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->fd, at + 8192);
		CHECK(s->data[i] != MAP_FAILED);
	}
	return 0;
}

static inline void close_session(struct session *s)
{
	uint32_t i;

	for (i = 0; i < s->ncpus; i++) {
		munmap(s->cons[i], 4096);
		munmap((void *)s->prod[i], 4096);
		munmap((void *)s->data[i], s->size);
	}
	close(s->fd);
}

/* The next record of any CPU, valid until the next call consumes it; NULL: none. */
static inline const struct kinst_rec *next_record(struct session *s)
{
	static uint64_t taken[MAX_CPUS];
	uint32_t i;

	for (i = 0; i < s->ncpus; i++) {
		uint64_t pos = s->cons[i]->pos;
		const struct kinst_rec *r;

		for (;;) {
			if (pos == __atomic_load_n(&s->prod[i]->pos, __ATOMIC_ACQUIRE))
				break;
			r = (void *)(s->data[i] + (pos & (s->size - 1)));
			taken[i] = r->len & KINST_REC_LEN;
			__atomic_store_n(&s->cons[i]->pos, pos + taken[i], __ATOMIC_RELEASE);
			if (!(r->len & KINST_REC_PAD))
				return r; /* the record is not overwritten in these tests */
			pos += taken[i];
		}
	}
	return NULL;
}

static inline int get_status(struct session *s, struct kinst_status *st)
{
	return ioctl(s->fd, KINST_IOC_STATUS, st);
}

/* Moves the aggregations of all CPUs to buf; returns the number of bytes. */
static inline int64_t snap(struct session *s, char *buf, uint32_t room)
{
	uint32_t cpu, used = 0;

	agg_drops = 0;
	for (cpu = 0; cpu < s->ncpus; cpu++) {
		struct kinst_aggsnap a = { .buf = (uintptr_t)buf + used, .size = room - used, .cpu = cpu };

		if (ioctl(s->fd, KINST_IOC_AGGSNAP, &a))
			return -1;
		used += a.used;
		agg_drops += a.drops;
	}
	return used;
}

struct test {
	const char *name;
	int (*run)(void);
};

/* Returns how many failed. */
static inline int run_tests(const struct test *tests, size_t n)
{
	int passed = 0, failed = 0;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < n; i++) {
		if (tests[i].run()) {
			printf("FAILED %s: %s\n", tests[i].name, why);
			failed++;
		} else {
			printf("ok %s\n", tests[i].name);
			passed++;
		}
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed;
}

#endif /* _KINST_DRIVER_H */
