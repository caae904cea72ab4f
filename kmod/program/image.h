/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/image.h: a verified program image, and the data derived from it.
 */
#ifndef _KINST_IMAGE_H
#define _KINST_IMAGE_H

#include "program/dif/dif.h"

struct kinst_limits {
	u32 max_probes;
	u32 max_insns;
};

/* The place of a global or clause-local variable, or how a dynamic one is stored. */
struct kinst_slot {
	bool there;
	bool array;
	bool byref;
	bool string;
	u32 size; /* of the value, if it is by reference */
	u32 off; /* in the block of its scope: a u64, followed by size bytes if it is by reference */
};

#define KINST_NSCOPES 3
enum kinst_scope { SCOPE_GLOBAL, SCOPE_THREAD, SCOPE_LOCAL };

/* An action, and the place of its record. */
struct kinst_act {
	struct kinst_action a;
	u32 size; /* bytes of its record; 0: none */
	u32 off; /* of the record, from the start of the payload (tuple: of the entry's key) */
	u8 role; /* enum kinst_role */
	u32 owner; /* aggregating: index of the first action on the same aggregation */
	/* aggregating actions only: */
	u32 first; /* index of its first key component (== its own: no key) */
	u32 keylen; /* bytes of the key, the value comes at the next multiple of 8 */
	u32 vallen;
	u32 single; /* without a key: 1 + its aggregation's index among those without; else 0 */
};

enum kinst_role {
	KINST_ROLE_RECORD,
	KINST_ROLE_KEY, /* a component of the key of the aggregating action `owner` */
	KINST_ROLE_AGG,
	KINST_ROLE_COUNT, /* count() without a key */
};

struct kinst_cl {
	const struct kinst_act *acts, *end;
	const struct kinst_dif *test; /* the predicate, if it is of KINST_FORM_TEST */
	u32 predicate; /* else its DIFO, or KINST_NONE */
	u32 payload; /* bytes, a multiple of 8 */
	u32 cost; /* steps that do not depend on its values (program/dif/dif.h) */
	bool record; /* a record is written */
	bool speculates; /* its record goes to a speculation */
	bool counts; /* nothing but count() without keys, perhaps after a test: it cannot fault */
	bool staged; /* built in separate memory: it speculates, or a commit() writes to the ring meanwhile */
};

/* An ECB, prepared for hits; the ECBs of a probe are adjacent. */
struct kinst_turn {
	const struct kinst_cl *clause;
	u32 epid;
	bool last; /* of its probe */
	bool ran; /* its probe has fired; set in the first of a probe */
	bool left; /* its probe was removed before it has fired; set in the first of a probe */
};

struct kinst_prog {
	/* views into the image */
	const u8 *image;
	const struct kinst_image *hdr;
	const char *strtab;
	const u32 *insns;
	const u64 *ints;
	const struct kinst_var *vars;
	const struct kinst_difo *difo_table;
	const struct kinst_action *action_table;
	const struct kinst_clause *clause_table;
	const struct kinst_probe *probes;
	const struct kinst_ecb *ecbs;

	/* derived */
	struct kinst_dif *difos;
	struct kinst_act *acts;
	struct kinst_cl *clauses;
	struct kinst_slot *slots[KINST_NSCOPES]; /* by id - VAR_USER */
	u32 nslots[KINST_NSCOPES];
	u32 block[KINST_NSCOPES]; /* bytes of the globals and of the locals */
	struct kinst_turn *turns; /* the ECBs by probe, in the order of the table */
	struct kinst_turn **first; /* of each probe, or NULL */
	u32 begin, end, error; /* probes, or KINST_NONE */
	u32 strsize;
	u32 nsingles; /* aggregations without a key */
	u32 max_entry; /* bytes of the largest aggregation entry, key and value */
	u32 max_staged; /* bytes of the largest record that is staged, with its header */
	bool speculates; /* speculations need buffers */
	u64 bufsize; /* rounded up */
};

/*
 * Verifies an image and fills *p, which refers to the image from then on. Returns 0, -EINVAL
 * (with the reason in err) or -ENOMEM; on failure nothing stays allocated.
 */
int kinst_image_parse(struct kinst_prog *p, const void *image, size_t len, const struct kinst_limits *lim,
		      struct kinst_error *err);
void kinst_image_free(struct kinst_prog *p);

/* Checks the ECBs, after the clauses, and fills p->turns and p->first (program/turns.c). Errors as above. */
int kinst_turns_sort(struct kinst_prog *p, struct kinst_error *err);

static inline const struct kinst_slot *kinst_slot(const struct kinst_prog *p, u32 scope, u32 id)
{
	u32 i = id - VAR_USER;

	return id >= VAR_USER && i < p->nslots[scope] && p->slots[scope][i].there ? &p->slots[scope][i] : NULL;
}

/* The largest power of two <= 8 that divides size (size > 0). */
static inline u32 kinst_rec_align(u32 size)
{
	return size & 1 ? 1 : size & 2 ? 2 : size & 4 ? 4 : 8;
}

/* Refuses the image: fills err, returns -EINVAL. */
static inline int kinst_refuse(struct kinst_error *err, u32 code, u32 difo, u32 index)
{
	err->code = code;
	err->difo = difo;
	err->index = index;
	err->reserved = 0;
	return -EINVAL;
}

/* Bytes of a value of this type in a record, also by reference and user reference. */
static inline u32 kinst_type_size(const struct kinst_prog *p, const struct kinst_dtype *t)
{
	return t->size || t->kind != 1 ? t->size : p->strsize;
}

static inline bool kinst_is_agg(u32 kind)
{
	return (kind & 0xff00) == 0x0700;
}

#endif /* _KINST_IMAGE_H */
