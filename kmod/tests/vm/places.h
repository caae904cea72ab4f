/* SPDX-License-Identifier: GPL-2.0 */
/* places.h: functions of the running kernel and their instructions, as probes of an image; for the tests in the guest. */
#ifndef _KINST_PLACES_H
#define _KINST_PLACES_H

#include "driver.h"
#include "kallsyms.h"

/* The address of a function, or 0. */
static inline uint64_t symbol(const char *name)
{
	static char *text;
	uint64_t addr = text ? find_function(text, name) : 0;

	if (addr)
		return addr;
	/* It may be in a module that was loaded meanwhile. */
	free(text);
	text = read_kallsyms();
	return text ? find_function(text, name) : 0;
}

/* Adds a probe of a kind on a function, with an ECB of the clause. */
static inline void add_place(struct ib *b, uint32_t kind, uint64_t func, uint32_t offset, uint32_t clause)
{
	struct kinst_probe p = { .kind = kind, .func = func, .offset = offset, .id = b->t[IB_PROBES].count + 1 };

	p.prov = p.mod = p.name_func = p.name = ib_str(b, "kinst");
	ib_ecb(b, ib_add(b, IB_PROBES, &p, 1), clause);
}

/* Adds every instruction of the function that can be traced; returns their count. */
static inline uint32_t add_all(struct ib *b, const char *name, uint32_t clause)
{
	static struct { uint64_t func; uint32_t n, offsets[2048]; } known[32], *k;
	static struct kinst_insn insns[2048];
	static unsigned int nknown;
	struct kinst_insns q = { .func = symbol(name), .buf = (uintptr_t)insns, .count = 2048 };
	uint32_t i;
	int fd;

	for (k = known; k < known + nknown && k->func != q.func; k++)
		;
	if (k == known + nknown) {
		if (!q.func || nknown == 32)
			return 0;
		fd = open(KINST_DEVICE, O_RDWR | O_CLOEXEC);
		i = fd < 0 || ioctl(fd, KINST_IOC_INSNS, &q) || q.count > 2048;
		close(fd);
		if (i)
			return 0;
		nknown++;
		k->func = q.func;
		for (i = 0; i < q.count; i++)
			if (!insns[i].reason)
				k->offsets[k->n++] = insns[i].offset;
	}
	for (i = 0; i < k->n; i++)
		add_place(b, KINST_P_INSN, k->func, k->offsets[i], clause);
	return k->n;
}

/* The number in a file of /sys or /proc. */
static inline long number_in(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

#define PARAMETER(name) "/sys/module/kinst/parameters/" name

/* Sums the values of all entries of a snapshot whose value is one word. */
static inline uint64_t total(const char *buf, int64_t n)
{
	uint64_t sum = 0;
	int64_t at;

	for (at = 0; at < n; at += ((const struct kinst_agg_entry *)(buf + at))->len)
		sum += *(const uint64_t *)(buf + at + ((const struct kinst_agg_entry *)(buf + at))->len - 8);
	return sum;
}

#endif /* _KINST_PLACES_H */
