/* SPDX-License-Identifier: GPL-2.0 */
/*
 * image_builder.h: builds program images by hand, for the tests in user space and in the guest.
 */
#ifndef _IMAGE_BUILDER_H
#define _IMAGE_BUILDER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../include/uapi/kinst.h"

/* ---- instructions ---- */

#define I_R3(op, r1, r2, rd) ((uint32_t)(op) << 24 | (r1) << 16 | (r2) << 8 | (rd))
#define I_W(op, idx, rd) ((uint32_t)(op) << 24 | (idx) << 8 | (rd))
#define I_SETX(i, rd) I_W(37, i, rd)
#define I_SETS(off, rd) I_W(38, off, rd)
#define I_RET(rd) I_W(35, 0, rd)
#define I_CALL(subr, rd) I_W(47, subr, rd)
#define I_PUSHV(rs) I_R3(49, 0, 0, rs)
#define I_PUSHS(rs) I_R3(48, 1, 0, rs) /* a string, strsize at most */
#define I_FLUSH I_W(51, 0, 0)

/* ---- tables ---- */

struct ib_table {
	char *mem;
	uint32_t count, entsize;
};

struct ib {
	struct ib_table t[9]; /* in the order of struct kinst_image */
	struct kinst_image h;
};

enum { IB_STR, IB_INSNS, IB_INTS, IB_VARS, IB_DIFOS, IB_ACTS, IB_CLAUSES, IB_PROBES, IB_ECBS };

static inline void ib_init(struct ib *b)
{
	static const uint32_t sizes[9] = {
		1, 4, 8, sizeof(struct kinst_var), sizeof(struct kinst_difo), sizeof(struct kinst_action),
		sizeof(struct kinst_clause), sizeof(struct kinst_probe), sizeof(struct kinst_ecb),
	};
	int i;

	memset(b, 0, sizeof(*b));
	for (i = 0; i < 9; i++)
		b->t[i].entsize = sizes[i];
	b->h = (struct kinst_image){
		.magic = KINST_IMAGE_MAGIC, .version = KINST_ABI_VERSION, .hdr_len = sizeof(b->h),
		.bufsize = 1 << 16, .aggsize = 1 << 16, .dynvarsize = 1 << 16, .strsize = 256, .cpu = KINST_NONE,
	};
}

/* Appends n entries; returns the index of the first. */
static inline uint32_t ib_add(struct ib *b, int table, const void *entries, uint32_t n)
{
	struct ib_table *t = &b->t[table];
	uint32_t at = t->count;

	t->mem = realloc(t->mem, (size_t)(t->count + n) * t->entsize + 8);
	if (n)
		memcpy(t->mem + (size_t)at * t->entsize, entries, (size_t)n * t->entsize);
	t->count += n;
	return at;
}

/* Adds a string to the image's table, whose first one is empty; returns its index. */
static inline uint32_t ib_str(struct ib *b, const char *s)
{
	if (!b->t[IB_STR].count)
		ib_add(b, IB_STR, "", 1);
	return ib_add(b, IB_STR, s, strlen(s) + 1);
}

#define T_INT(n) ((struct kinst_dtype){ .ckind = 1, .size = (n) })
#define T_VOID ((struct kinst_dtype){ 0 })
#define T_STRING ((struct kinst_dtype){ .kind = 1, .flags = KINST_T_BYREF })
#define T_REF(n) ((struct kinst_dtype){ .ckind = 6, .flags = KINST_T_BYREF, .size = (n) })

/* strs: consecutive strings; strs[0] is NUL, as sets requires. */
static inline uint32_t ib_difo(struct ib *b, const uint32_t *insn, uint32_t n, const uint64_t *ints, uint32_t nints,
			       const char *strs, uint32_t strlen_, struct kinst_dtype rtype)
{
	struct kinst_difo d = { .ninsns = n, .nints = nints, .strlen = strlen_, .rtype = rtype };

	ib_str(b, "");
	d.insn = ib_add(b, IB_INSNS, insn, n);
	d.int0 = ib_add(b, IB_INTS, ints, nints);
	d.str0 = ib_add(b, IB_STR, strs, strlen_);
	return ib_add(b, IB_DIFOS, &d, 1);
}

/* The value of one built-in scalar. */
static inline uint32_t ib_var_difo(struct ib *b, uint32_t id, struct kinst_dtype rtype)
{
	uint32_t w[] = { I_W(41, id, 1), I_RET(1) };

	return ib_difo(b, w, 2, NULL, 0, NULL, 0, rtype);
}

static inline uint32_t ib_const(struct ib *b, uint64_t v, uint32_t size)
{
	uint32_t w[] = { I_SETX(0, 1), I_RET(1) };

	return ib_difo(b, w, 2, &v, 1, NULL, 0, T_INT(size));
}

static inline uint32_t ib_string(struct ib *b, const char *s)
{
	uint32_t w[] = { I_SETS(1, 1), I_RET(1) };
	char strs[512] = "";
	size_t n = strlen(s);

	memcpy(strs + 1, s, n + 1);
	return ib_difo(b, w, 2, NULL, 0, strs, n + 2, T_STRING);
}

static inline uint32_t ib_act(struct ib *b, uint16_t kind, uint32_t difo, uint64_t arg)
{
	struct kinst_action a = { .kind = kind, .difo = difo, .incr = KINST_NONE, .arg = arg };

	return ib_add(b, IB_ACTS, &a, 1);
}

static inline uint32_t ib_agg(struct ib *b, uint16_t kind, uint32_t id, uint16_t ntuple, uint32_t difo, uint64_t arg)
{
	struct kinst_action a = { .kind = kind, .ntuple = ntuple, .difo = difo, .incr = KINST_NONE, .agg = id,
				  .arg = arg };

	return ib_add(b, IB_ACTS, &a, 1);
}

/* A clause of the actions added since the last one. */
static inline uint32_t ib_clause(struct ib *b, uint32_t predicate, uint32_t flags)
{
	struct kinst_clause *last = (void *)b->t[IB_CLAUSES].mem, c = { .predicate = predicate, .flags = flags };
	uint32_t n = b->t[IB_CLAUSES].count;

	c.action = n ? last[n - 1].action + last[n - 1].nactions : 0;
	c.nactions = b->t[IB_ACTS].count - c.action;
	return ib_add(b, IB_CLAUSES, &c, 1);
}

static inline uint32_t ib_probe(struct ib *b, uint32_t kind, const char *name)
{
	struct kinst_probe p = { .kind = kind };

	p.prov = ib_str(b, "dtrace");
	p.name = ib_str(b, name);
	p.id = b->t[IB_PROBES].count + 1;
	return ib_add(b, IB_PROBES, &p, 1);
}

static inline uint32_t ib_ecb(struct ib *b, uint32_t probe, uint32_t clause)
{
	struct kinst_ecb e = { .probe = probe, .clause = clause };

	return ib_add(b, IB_ECBS, &e, 1);
}

static inline uint32_t ib_user_var(struct ib *b, uint32_t id, int scope, int scalar, struct kinst_dtype t)
{
	struct kinst_var v = { .id = id, .kind = scalar, .scope = scope, .flags = 3, .type = t };

	v.name = ib_str(b, "v");
	return ib_add(b, IB_VARS, &v, 1);
}

/* The whole image, malloc'ed; the builder's tables are freed. */
static inline void *ib_finish(struct ib *b, uint32_t *len)
{
	struct kinst_table *t = &b->h.strtab;
	char *image;
	int i;

	ib_str(b, "");
	*len = sizeof(b->h);
	for (i = 0; i < 9; i++) {
		t[i] = (struct kinst_table){ *len, b->t[i].count };
		*len += (b->t[i].count * b->t[i].entsize + 7) / 8 * 8;
	}
	b->h.len = *len;
	image = calloc(1, *len);
	memcpy(image, &b->h, sizeof(b->h));
	for (i = 0; i < 9; i++) {
		if (b->t[i].count)
			memcpy(image + t[i].off, b->t[i].mem, (size_t)b->t[i].count * b->t[i].entsize);
		free(b->t[i].mem);
	}
	return image;
}

#endif /* _IMAGE_BUILDER_H */
