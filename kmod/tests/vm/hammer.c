// SPDX-License-Identifier: GPL-2.0
/*
 * hammer.c: a stress test of /dev/dtrace/kinst with nearly valid input, in the guest.
 *
 *   hammer SECONDS [SEED [WORKERS [THREADS]]]
 *       WORKERS processes of THREADS threads each; one of them is killed now and then, and its successor
 *       continues with the next seed. The seeds are printed: with one worker and one thread a run can be repeated.
 *
 * Valid images, and images with bytes flipped, tables moved and words replaced by boundary values; every
 * ioctl with nonsensical arguments; sessions that several threads share and that are closed while in use; every
 * operation on a mapping. The test fails only if the kernel does. This program counts how much was reached, and how
 * long the slowest call of each kind took.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../image_builder.h"
#include "kallsyms.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define SLOTS 3
#define MAPS 6
#define KEPT 8

/* ---- coverage counts, shared by all processes ---- */

enum { INFO, INSNS, LOAD, GO, STOP, STATUS, AGGSNAP, SYSCALLS, FIRED, WILD, NIOCTLS };

static const char *const ioctl_names[NIOCTLS] = { "INFO", "INSNS",   "LOAD",	"GO",  "STOP",
						  "STATUS", "AGGSNAP", "SYSCALLS", "FIRED", "other" };

static struct shared {
	unsigned long calls[NIOCTLS], good[NIOCTLS], slowest[NIOCTLS]; /* slowest: microseconds */
	unsigned long good_images, bad_images, bad_loaded, codes[KINST_V_MAX + 1], reasons[KINST_R_MAX + 1];
	unsigned long maps, mapped, opened, closed, kills, faults, rounds, hits;
} *shared;

#define COUNT(what) __atomic_fetch_add(&shared->what, 1, __ATOMIC_RELAXED)

/* ---- random numbers ---- */

static __thread uint64_t state;

static uint32_t rnd(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

/* A number near a boundary, or any number. */
static uint64_t odd(void)
{
	static const uint64_t edges[] = {
		0, 1, 2, 7, 8, 16, 255, 4095, 4096, 8192, 65535, 65536, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff,
		1ull << 32, 1ull << 40, 1ull << 47, 1ull << 63, ~0ull, ~0ull << 12, 0x00007ffffffff000,
		0xffff800000000000, 0xffffffff81000000, 0xffffffffff600000, 0xffffffffff5fd000, 0xfffffe0000000000,
	};

	return rnd(4) ? edges[rnd(ARRAY_SIZE(edges))] + rnd(3) - 1 : (uint64_t)rnd(~0u) << 32 | rnd(~0u);
}

/* ---- places in the kernel that fire ---- */

static const char *const names[] = {
	GETPPID, "ksys_read", "vfs_read", "ksys_write", "vfs_write", "do_sys_openat2", "fput",
	SYSTEM_CALL "close", "handle_mm_fault", "do_anonymous_page", "pipe_read", "pipe_write", "_copy_to_iter",
	"_copy_from_iter", "copy_page_to_iter", "kmem_cache_alloc", "kmem_cache_free", "kfree", "schedule",
	"try_to_wake_up", "do_futex", "do_mmap", "do_munmap", "vm_mmap_pgoff", "do_exit",
	"wake_up_new_task", "copy_process", "dput", "path_openat", "get_random_bytes", "do_poll", "do_sys_poll",
};

static struct place {
	uint64_t func;
	uint32_t n;
	uint32_t offsets[64];
} places[ARRAY_SIZE(names)];
static int nplaces;

static void find_places(int fd)
{
	static struct kinst_insn insns[4096];
	char *text = read_kallsyms();
	unsigned int i, k;

	for (i = 0; text && i < ARRAY_SIZE(names); i++) {
		uint64_t func = find_function(text, names[i]);

		if (func)
			places[nplaces++].func = func;
	}
	free(text);
	for (i = 0; i < (unsigned int)nplaces; i++) {
		struct kinst_insns q = { .func = places[i].func, .buf = (uintptr_t)insns, .count = ARRAY_SIZE(insns) };

		if (ioctl(fd, KINST_IOC_INSNS, &q))
			continue;
		for (k = 0; k < q.count && k < ARRAY_SIZE(insns) && places[i].n < 64; k++)
			if (!insns[k].reason)
				places[i].offsets[places[i].n++] = insns[k].offset;
	}
}

/* ---- images ---- */

#define OP_ANY 41

/* A DIFO of straight-line code over all kinds of operands; its result is meaningless. */
static uint32_t any_difo(struct ib *b, uint32_t size)
{
	static const uint8_t two[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 46 };
	static const uint8_t loads[] = { 28, 29, 30, 31, 32, 33, 34, 64, 65, 66, 67, 68, 69, 70 };
	uint64_t ints[8];
	uint32_t w[64], n = 0, i, k = 1 + rnd(6);

	for (i = 0; i < 8; i++)
		ints[i] = odd();
	w[n++] = I_SETX(rnd(8), 1);
	w[n++] = I_SETX(rnd(8), 2);
	for (i = 0; i < k && n < 50; i++) {
		switch (rnd(9)) {
		case 0: w[n++] = I_R3(two[rnd(13)], 1, 2, 1 + rnd(3)); break;
		case 1: w[n++] = I_W(OP_ANY, 0x100 + rnd(0x22), 1 + rnd(3)); break;
		case 2: w[n++] = I_R3(loads[rnd(14)], 1 + rnd(3), 0, 1 + rnd(3)); break;
		case 3: w[n++] = I_W(41 + 3 * rnd(2), 0x500, 1 + rnd(3)); break; /* ldgs, ldts */
		case 4: w[n++] = I_W(42 + 3 * rnd(2), 0x500, 1 + rnd(3)); break; /* stgs, stts */
		case 5: /* an element of an array */
			w[n++] = I_FLUSH;
			w[n++] = I_PUSHV(1);
			w[n++] = rnd(2) ? I_W(52, 0x501, 2) : I_W(54, 0x501, 2);
			break;
		case 6: /* a subroutine with one to three arguments */
			w[n++] = I_FLUSH;
			w[n++] = I_PUSHV(1);
			if (rnd(2))
				w[n++] = I_PUSHV(2);
			w[n++] = I_CALL(rnd(52), 3);
			break;
		case 7:
			w[n] = (uint32_t)(17 + rnd(11)) << 24 | (n + 1);
			n++;
			break;
		default: w[n++] = rnd(2) ? I_R3(15, 1, 2, 0) : I_R3(60 + rnd(4), 1, 0, 2); /* cmp, st */
		}
	}
	w[n++] = I_RET(1 + rnd(3));
	return ib_difo(b, w, n, ints, 8, "\0ab\0key", 8, T_INT(size));
}

static void any_action(struct ib *b)
{
	uint16_t agg;

	switch (rnd(12)) {
	case 0: ib_act(b, KINST_ACT_PRINTF, ib_string(b, "hammer"), 1); break;
	case 1: ib_act(b, KINST_ACT_STACK, KINST_NONE, 1 + rnd(20)); break;
	case 2: ib_act(b, KINST_ACT_USTACK, KINST_NONE, (uint64_t)(rnd(2) * rnd(1025) * 8) << 32 | (1 + rnd(20))); break;
	case 3: ib_act(b, KINST_ACT_TRACEMEM, ib_const(b, odd(), 8), 1 + rnd(300)); break;
	case 4:
		if (!rnd(16))
			ib_act(b, KINST_ACT_EXIT, ib_const(b, 1, 4), 0);
		break;
	case 5: case 6:
		agg = KINST_ACT_COUNT + rnd(7);
		if (agg == KINST_ACT_COUNT) {
			ib_act(b, KINST_ACT_DIFEXPR, any_difo(b, 4), 0);
			ib_agg(b, agg, 100, 1, KINST_NONE, 0);
		} else {
			ib_agg(b, agg, agg & 0xff, 0, any_difo(b, 8), 0);
		}
		break;
	case 7:
		if (b->h.nspec)
			ib_act(b, KINST_ACT_SPECULATE + rnd(3), ib_const(b, rnd(b->h.nspec + 2), 4), 0);
		break;
	case 8: ib_act(b, KINST_ACT_SYM + rnd(2), any_difo(b, 8), 0); break;
	default: ib_act(b, KINST_ACT_DIFEXPR, any_difo(b, 1u << rnd(4)), 0);
	}
}

static void any_probe(struct ib *b, uint32_t clause)
{
	struct kinst_probe p = { .kind = KINST_P_INSN + rnd(KINST_P_KINDS - KINST_P_INSN), .id = 1 + rnd(1000) };
	const struct place *at = &places[rnd(nplaces)];

	p.func = at->func;
	switch (p.kind) {
	case KINST_P_INSN: case KINST_P_EDGE:
		p.offset = at->n && rnd(16) ? at->offsets[rnd(at->n)] : odd();
		p.to = at->n && rnd(4) ? at->offsets[rnd(at->n)] : odd();
		p.over[0] = rnd(8) ? 0 : odd();
		break;
	case KINST_P_PROFILE: case KINST_P_TICK:
		p.func = rnd(32) ? 50 * KINST_MIN_INTERVAL * (1 + rnd(100)) : odd();
		break;
	case KINST_P_SYSCALL_ENTRY: case KINST_P_SYSCALL_RETURN:
		p.func = rnd(8) ? rnd(400) : rnd(KINST_MAX_SYSCALLS);
		break;
	case KINST_P_EVENT:
		p.func = rnd(KINST_E_MAX);
		break;
	}
	p.prov = p.mod = p.name_func = p.name = ib_str(b, "hammer");
	ib_ecb(b, ib_add(b, IB_PROBES, &p, 1), clause);
}

static void *image(uint32_t *len)
{
	static const uint32_t kinds[] = { KINST_P_BEGIN, KINST_P_END, KINST_P_ERROR };
	uint32_t clauses = 1 + rnd(3), i, n;
	struct ib b;

	ib_init(&b);
	b.h.flags = (rnd(4) ? 0 : KINST_IMAGE_RING) | (rnd(3) ? 0 : KINST_IMAGE_ONCE);
	b.h.bufsize = 16384u << rnd(6);
	b.h.aggsize = 16384u << rnd(4);
	b.h.strsize = rnd(2) ? 256 : 8 + rnd(2000);
	b.h.nspec = rnd(3) ? 0 : 1 + rnd(8);
	b.h.specsize = 4096;
	b.h.clean_us = rnd(2) ? 0 : 1000;
	b.h.cpu = rnd(8) ? KINST_NONE : rnd(4);
	ib_user_var(&b, 0x500, 0, 1, T_INT(8));
	ib_user_var(&b, 0x501, 0, 0, rnd(2) ? T_INT(8) : T_STRING);
	ib_user_var(&b, 0x500, 1, 1, T_INT(8));
	for (i = 0; i < clauses; i++) {
		for (n = 1 + rnd(4); n; n--)
			any_action(&b);
		ib_clause(&b, rnd(3) ? KINST_NONE : any_difo(&b, 4), rnd(2));
	}
	for (i = 0; i < 3; i++)
		if (rnd(2))
			ib_ecb(&b, ib_probe(&b, kinds[i], "dtrace"), rnd(clauses));
	for (n = rnd(8) ? rnd(6) : rnd(200); n; n--)
		any_probe(&b, rnd(clauses));
	return ib_finish(&b, len);
}

static void spoil(uint8_t *bytes, uint32_t len)
{
	struct kinst_image *h = (void *)bytes;
	uint32_t n = 1 + rnd(4), at;

	for (; n; n--) {
		uint64_t value = odd();

		switch (rnd(6)) {
		case 0: /* a table is elsewhere, or longer */
			at = rnd(18);
			((uint32_t *)&h->strtab)[at] += rnd(2) ? 8 * (rnd(64) - 32) : value;
			break;
		case 1: /* an option */
			memcpy(bytes + offsetof(struct kinst_image, bufsize) + 4 * rnd(14), &value, 4);
			break;
		case 2: /* a word is replaced by another one of the image */
			memcpy(bytes + rnd(len / 4) * 4, bytes + rnd(len / 4) * 4, 4);
			break;
		case 3:
			memcpy(bytes + rnd(len / 4) * 4, &value, 4);
			break;
		case 4:
			memcpy(bytes + rnd(len / 8) * 8, &value, 8);
			break;
		default:
			bytes[rnd(len)] ^= 1 << rnd(8);
		}
	}
	/* A panic() by the program would not be a defect. */
	h->flags &= ~KINST_IMAGE_DESTRUCTIVE;
}

/* ---- calls ---- */

static int timed(int fd, int which, unsigned long cmd, void *arg)
{
	struct timespec a, b;
	unsigned long us, old;
	int ret;

	clock_gettime(CLOCK_MONOTONIC, &a);
	ret = ioctl(fd, cmd, arg);
	clock_gettime(CLOCK_MONOTONIC, &b);
	us = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
	COUNT(calls[which]);
	if (ret >= 0)
		COUNT(good[which]);
	for (old = shared->slowest[which]; us > old;)
		if (__atomic_compare_exchange_n(&shared->slowest[which], &old, us, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			break;
	return ret;
}

static void *somewhere(void *good)
{
	return rnd(4) ? good : (void *)(uintptr_t)odd();
}

static int load(int fd)
{
	static __thread struct kinst_result results[4096];
	uint32_t len, i, n;
	uint8_t *bytes = image(&len);
	int bad = rnd(3), ret;
	struct kinst_load l;

	n = ((struct kinst_image *)bytes)->probes.count;
	if (bad)
		spoil(bytes, len);
	l = (struct kinst_load){ .image = (uintptr_t)bytes, .results = (uintptr_t)results, .image_len = len, .nresults = n };
	if (bad && !rnd(8))
		l.image = odd();
	if (bad && !rnd(8))
		l.image_len = rnd(2) ? odd() : rnd(len + 8);
	if (bad && !rnd(8))
		l.nresults = odd();
	if (bad && !rnd(8))
		l.results = odd();
	if (l.nresults > ARRAY_SIZE(results) && l.results == (uintptr_t)results)
		l.nresults = ARRAY_SIZE(results);
	ret = timed(fd, LOAD, KINST_IOC_LOAD, bad && !rnd(32) ? somewhere(&l) : &l);
	if (bad)
		COUNT(bad_images);
	else
		COUNT(good_images);
	if (!ret && bad)
		COUNT(bad_loaded);
	if (ret && l.error.code <= KINST_V_MAX)
		COUNT(codes[l.error.code]);
	for (i = 0; !ret && i < n && l.results == (uintptr_t)results; i++)
		if (results[i].reason < KINST_R_MAX)
			COUNT(reasons[results[i].reason]);
	bad = errno;
	free(bytes);
	errno = bad;
	return ret;
}

static void ask(int fd)
{
	static __thread uint8_t buf[1 << 20];
	struct kinst_status st = { 0 };

	switch (rnd(7)) {
	case 0: {
		struct kinst_aggsnap q = { .buf = (uintptr_t)buf, .size = rnd(4) ? sizeof(buf) : rnd(sizeof(buf)),
					   .cpu = rnd(8) ? rnd(4) : odd(), .reserved = rnd(16) ? 0 : odd() };
		if (!rnd(4))
			q.buf = odd();
		timed(fd, AGGSNAP, KINST_IOC_AGGSNAP, rnd(16) ? &q : somewhere(&q));
		break;
	}
	case 1: {
		struct kinst_insns q = { .func = rnd(2) ? places[rnd(nplaces)].func + (rnd(4) ? 0 : rnd(64)) : odd(),
					 .buf = (uintptr_t)buf, .count = rnd(4) ? rnd(2000) : rnd(sizeof(buf) / 24),
					 .reserved = rnd(16) ? 0 : odd() };
		if (!rnd(4)) {
			q.buf = odd();
			q.count = odd();
		}
		timed(fd, INSNS, KINST_IOC_INSNS, rnd(16) ? &q : somewhere(&q));
		break;
	}
	case 2: {
		struct kinst_syscalls q = { .buf = (uintptr_t)buf, .count = rnd(4096) };
		if (!rnd(4)) {
			q.buf = odd();
			q.count = odd();
		}
		timed(fd, SYSCALLS, KINST_IOC_SYSCALLS, rnd(16) ? &q : somewhere(&q));
		break;
	}
	case 3:
		timed(fd, INFO, KINST_IOC_INFO, somewhere(buf));
		break;
	case 4: {
		struct kinst_fired q = { .buf = (uintptr_t)buf, .count = rnd(4) ? rnd(8) : rnd(sizeof(buf)),
					 .reserved = rnd(16) ? 0 : odd() };
		if (!rnd(4))
			q.buf = odd();
		timed(fd, FIRED, KINST_IOC_FIRED, rnd(16) ? &q : somewhere(&q));
		break;
	}
	case 5:
		timed(fd, WILD, rnd(2) ? odd() : (KINST_IOC_LOAD & ~0xffu) | rnd(16), somewhere(buf));
		break;
	default:
		if (!timed(fd, STATUS, KINST_IOC_STATUS, rnd(8) ? &st : somewhere(&st)))
			if (st.hits > shared->hits)
				shared->hits = st.hits;
	}
}

/* ---- mappings; another thread may unmap one, so each access may fault ---- */

static __thread sigjmp_buf out;
static __thread volatile int may_fault;

static void on_fault(int sig)
{
	if (!may_fault)
		_exit(100 + sig);
	COUNT(faults);
	siglongjmp(out, 1);
}

struct kept {
	uint8_t *at;
	size_t size;
};

static __thread struct kept kept[KEPT];

static void touch(struct kept *k)
{
	if (!k->at)
		return;
	may_fault = 1;
	if (!sigsetjmp(out, 1)) {
		if (rnd(2))
			(void)*(volatile uint8_t *)(k->at + rnd(k->size));
		else
			*(volatile uint64_t *)(k->at + (rnd(2) ? 0 : rnd(k->size) & ~7u)) = odd();
	}
	may_fault = 0;
}

static void twist(struct kept *k)
{
	static const int advices[] = { MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_REMOVE, MADV_HUGEPAGE,
				       MADV_WILLNEED, 22 /* populate read */, 23 /* populate write */, MADV_FREE };
	void *moved;

	if (!k->at)
		return;
	switch (rnd(6)) {
	case 0:
		mprotect(k->at, rnd(2) ? 4096 : k->size, rnd(8));
		break;
	case 1:
		moved = mremap(k->at, k->size, rnd(2) ? k->size : k->size + 4096 * (1 + rnd(8)), MREMAP_MAYMOVE);
		if (moved != MAP_FAILED)
			k->at = moved;
		break;
	case 2:
		madvise(k->at, k->size, advices[rnd(ARRAY_SIZE(advices))]);
		break;
	case 3:
		mlock(k->at, k->size);
		msync(k->at, k->size, MS_SYNC);
		munlock(k->at, k->size);
		break;
	default:
		munmap(k->at, rnd(2) ? 4096 : k->size);
		k->at = NULL;
	}
}

static void map(int fd)
{
	struct kept *k = &kept[rnd(KEPT)];
	size_t pages = rnd(3) ? 1 : rnd(3) ? 1 + rnd(64) : 1 + rnd(5000);
	uint64_t offset = rnd(4) ? ((uint64_t)rnd(4) * KINST_RING_PAGES + rnd(4)) * 4096 : odd() & ~4095ull;

	if (k->at)
		munmap(k->at, k->size);
	k->size = pages * 4096;
	k->at = mmap(NULL, k->size, rnd(8), rnd(8) ? MAP_SHARED : MAP_PRIVATE, fd, offset);
	COUNT(maps);
	if (k->at == MAP_FAILED)
		k->at = NULL;
	else
		COUNT(mapped);
}

/* ---- a process ---- */

static int slots[SLOTS];

/* Other operations on a file; most are refused. */
static void generic(int fd)
{
	struct pollfd p = { .fd = fd, .events = rnd(0x8000) };
	char buf[64];
	int other;

	switch (rnd(6)) {
	case 0: poll(&p, 1, rnd(3)); break;
	case 1: (void)!pread(fd, buf, sizeof(buf), 0); (void)!write(fd, buf, 8); break;
	case 2: lseek(fd, rnd(100), SEEK_SET); (void)!ftruncate(fd, 0); break;
	case 3: sendfile(fd, fd, NULL, 4096); break;
	case 4:
		other = dup(fd);
		timed(other, GO, KINST_IOC_GO, NULL);
		close(other);
		break;
	default:
		other = open("/dev/dtrace/kinst", rnd(2) ? O_RDONLY : O_WRONLY);
		if (other >= 0) {
			load(other);
			timed(other, GO, KINST_IOC_GO, NULL);
			close(other);
		}
	}
}

/* Makes the probes fire. */
static void work(void)
{
	int fd[2], i, zero = open("/dev/zero", O_RDONLY);
	char buf[4096], *m;

	for (i = 0; i < 20; i++)
		syscall(SYS_getppid);
	if (zero >= 0 && read(zero, buf, sizeof(buf)))
		close(zero);
	if (!pipe(fd)) {
		m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (write(fd[1], buf, 3000) == 3000 && m != MAP_FAILED)
			(void)!read(fd[0], m + 100, 3000);
		munmap(m, 8192);
		close(fd[0]);
		close(fd[1]);
	}
	if (!rnd(64)) {
		pid_t pid = fork();

		if (!pid) { /* a child with the same sessions */
			timed(slots[rnd(SLOTS)], STOP, KINST_IOC_STOP, NULL);
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

/* Closes a file that other threads may be using. */
static void shut(int *slot, int fd)
{
	if (__atomic_compare_exchange_n(slot, &fd, -1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		close(fd);
		COUNT(closed);
	}
}

static void step(void)
{
	int *slot = &slots[rnd(SLOTS)], fd = __atomic_load_n(slot, __ATOMIC_RELAXED), none = -1;

	if (fd < 0) {
		fd = open("/dev/dtrace/kinst", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return;
		COUNT(opened);
		if (!__atomic_compare_exchange_n(slot, &none, fd, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			close(fd);
		return;
	}
	switch (rnd(16)) {
	case 0: case 1: case 2:
		/* A loaded session refuses another image. */
		if (load(fd) && errno == EBUSY && rnd(2))
			shut(slot, fd);
		break;
	case 3: timed(fd, GO, KINST_IOC_GO, (void *)(uintptr_t)odd()); break;
	case 4:
		if (!rnd(3))
			timed(fd, STOP, KINST_IOC_STOP, NULL);
		break;
	case 5: case 6: case 7: ask(fd); break;
	case 8: case 9: map(fd); break;
	case 10: touch(&kept[rnd(KEPT)]); break;
	case 11: twist(&kept[rnd(KEPT)]); break;
	case 12: generic(fd); break;
	case 13:
		if (!rnd(3))
			shut(slot, fd);
		break;
	default: work();
	}
	COUNT(rounds);
}

static void *thread(void *seed)
{
	state = (uintptr_t)seed * 0x9e3779b97f4a7c15ull;
	rnd(1);
	for (;;)
		step();
	return NULL;
}

static pid_t worker(unsigned long seed, int threads)
{
	struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	pid_t pid = fork();
	pthread_t t;
	int i;

	if (pid)
		return pid;
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	for (i = 0; i < SLOTS; i++)
		slots[i] = -1;
	for (i = 1; i < threads; i++)
		pthread_create(&t, NULL, thread, (void *)(uintptr_t)(seed * 64 + i));
	thread((void *)(uintptr_t)(seed * 64));
	_exit(1);
}

/* ---- the whole run ---- */

static void report(void)
{
	unsigned int i, n = 0, m = 0;

	for (i = 0; i < NIOCTLS; i++)
		printf("%s: %lu calls, %lu good, slowest %lu us\n", ioctl_names[i], shared->calls[i], shared->good[i],
		       shared->slowest[i]);
	printf("images: %lu good, %lu spoilt of which %lu loaded; refused as", shared->good_images, shared->bad_images,
	       shared->bad_loaded);
	for (i = 0; i <= KINST_V_MAX; i++)
		if (shared->codes[i] && ++n)
			printf(" %u:%lu", i, shared->codes[i]);
	printf("\nprobes:");
	for (i = 0; i <= KINST_R_MAX; i++)
		if (shared->reasons[i] && ++m)
			printf(" %u:%lu", i, shared->reasons[i]);
	printf("\nmaps: %lu, %lu good, %lu faults; opened %lu, closed %lu, killed %lu, steps %lu, most hits %lu\n",
	       shared->maps, shared->mapped, shared->faults, shared->opened, shared->closed, shared->kills,
	       shared->rounds, shared->hits);
	if (n > 8 && m > 4 && shared->bad_loaded && shared->mapped && shared->kills && shared->good[GO] &&
	    shared->good[AGGSNAP] && shared->hits)
		printf("hammer was rich\n");
}

int main(int argc, char **argv)
{
	time_t start = time(NULL), end = start + (argc > 1 ? atoi(argv[1]) : 20), told = start;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	int workers = argc > 3 ? atoi(argv[3]) : 3, threads = argc > 4 ? atoi(argv[4]) : 3, i;
	int fd = open("/dev/dtrace/kinst", O_RDWR | O_CLOEXEC), gone;
	pid_t pids[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (fd < 0 || workers < 1 || workers > 64) {
		perror("/dev/dtrace/kinst");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	find_places(fd);
	close(fd);
	printf("seed %lu, %d workers of %d threads, %d functions\n", seed, workers, threads, nplaces);
	state = seed;
	for (i = 0; i < workers; i++)
		pids[i] = worker(seed++, threads);
	while (time(NULL) < end) {
		usleep(20000 + rnd(400000));
		i = rnd(workers);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], &gone, 0);
		COUNT(kills);
		if (WIFEXITED(gone))
			printf("the worker of seed %lu ended by itself: %d\n", seed - 1, WEXITSTATUS(gone));
		pids[i] = worker(seed++, threads);
		if (time(NULL) >= told + 60) {
			told = time(NULL);
			printf("%lld s, seed %lu, steps %lu, loads %lu\n", (long long)(told - start), seed, shared->rounds,
			       shared->calls[LOAD]);
		}
	}
	for (i = 0; i < workers; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	report();
	return 0;
}
