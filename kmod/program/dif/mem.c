// SPDX-License-Identifier: GPL-2.0
/*
 * program/dif/mem.c: access to memory on behalf of programs.
 *
 * Reads use the no-fault copies for any address; writes go only to
 * the scratch memory that the program has allocated and to its variables.
 *
 * Context: probe; in the guard.
 */
#include "context.h"
#include "program/session.h"

/* Strings are fetched in pieces within an aligned block, so that no piece reaches into a page beyond the string. */
#define PIECE KINST_PIECE

__at_hit void *kinst_scratch(struct kinst_ctx *c, u64 n)
{
	u8 *p = c->scratch_next;
	u64 room = c->scratch_end - p;

	if (n > room || roundup(n, 8) > room) {
		kinst_fault(c, KINST_FLT_NOSCRATCH, 0);
		return NULL;
	}
	c->scratch_next += roundup(n, 8);
	return p;
}
NOKPROBE_SYMBOL(kinst_scratch);

__at_hit u64 kinst_new_string(struct kinst_ctx *c, const char *s, u64 n)
{
	char *p;

	n = min_t(u64, n, c->prog->strsize - 1);
	p = kinst_scratch(c, n + 1);
	if (!p || !kinst_burn(c, n / 8))
		return 0;
	memcpy(p, s, n);
	p[n] = 0;
	return (u64)(uintptr_t)p;
}
NOKPROBE_SYMBOL(kinst_new_string);

__at_hit bool kinst_load(struct kinst_ctx *c, void *dst, u64 addr, u64 n, bool user)
{
	if (!kinst_burn(c, KINST_LOAD_STEPS + n / 8))
		return false;
	if (addr + n >= addr && (user ? kinst_env_read_user(dst, addr, n) : kinst_env_read(dst, addr, n)))
		return true;
	kinst_fault(c, KINST_FLT_BADADDR, addr);
	return false;
}
NOKPROBE_SYMBOL(kinst_load);

__at_hit u64 kinst_load_text(struct kinst_ctx *c, char *dst, u64 addr, u64 limit, bool user)
{
	u64 done = 0;

	while (done < limit) {
		u64 n = min(limit - done, (u64)PIECE - (addr + done) % PIECE), len;

		if (!kinst_load(c, dst + done, addr + done, n, user)) {
			dst[done] = 0;
			return 0;
		}
		len = strnlen(dst + done, n);
		if (len < n)
			return done + len;
		done += n;
	}
	return limit;
}
NOKPROBE_SYMBOL(kinst_load_text);

__at_hit u64 kinst_load_str(struct kinst_ctx *c, char *dst, u64 addr, u64 limit, bool user)
{
	u64 n = kinst_load_text(c, dst, addr, limit, user);

	if (n < limit)
		return n;
	dst[limit - 1] = 0;
	return limit - 1;
}
NOKPROBE_SYMBOL(kinst_load_str);

__at_hit u64 kinst_strnlen(struct kinst_ctx *c, u64 addr, u64 limit)
{
	char *piece = (char *)c->vcpu->piece[0];
	u64 done = 0;

	while (done < limit) {
		u64 n = min(limit - done, (u64)PIECE - (addr + done) % PIECE), len;

		if (!kinst_load(c, piece, addr + done, n, false))
			return 0;
		len = strnlen(piece, n);
		if (len < n)
			return done + len;
		done += n;
	}
	return limit;
}
NOKPROBE_SYMBOL(kinst_strnlen);

__at_hit int kinst_strcmp(struct kinst_ctx *c, u64 a, u64 b, u64 limit)
{
	u8 *x = c->vcpu->piece[0], *y = c->vcpu->piece[1];
	u64 done = 0, i;

	if (a == b)
		return 0;
	if (!a || !b) { /* NULL counts as an empty string */
		if (!kinst_load(c, x, a ?: b, 1, false) || !x[0])
			return 0;
		return a ? 1 : -1;
	}
	while (done < limit) {
		u64 n = min3(limit - done, (u64)PIECE - (a + done) % PIECE, (u64)PIECE - (b + done) % PIECE);

		if (!kinst_load(c, x, a + done, n, false) || !kinst_load(c, y, b + done, n, false))
			return 0;
		for (i = 0; i < n; i++) {
			if (x[i] != y[i])
				return x[i] < y[i] ? -1 : 1;
			if (!x[i])
				return 0;
		}
		done += n;
	}
	return 0;
}
NOKPROBE_SYMBOL(kinst_strcmp);
