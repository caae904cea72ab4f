// SPDX-License-Identifier: GPL-2.0
/*
 * program/dif/subr.c: the subroutines of DIF: their table, and all except
 * those on strings (program/dif/str.c) and those about the system (program/env.h).
 *
 * Arguments are on the tuple stack. A call with too few of them is an ILLOP fault.
 *
 * Context: probe; in the guard, interrupts off.
 */
#include "context.h"
#include "program/session.h"
#include "program/spec.h"

#define MEMSTR_MAX 4096
#define NTOA_MAX 48 /* an IPv6 address as a string, and some more */

#define ARGS(min, max) { min, max, false }
#define REFUSED { 0, -1, false }

/* A subroutine that is not listed takes no arguments, and is refused below. */
static const struct kinst_subr_args table[SUBR_MAX] = {
	[SUBR_RAND] = ARGS(0, 0),
	[SUBR_MUTEX_OWNED] = ARGS(1, 1),
	[SUBR_MUTEX_OWNER] = ARGS(1, 1),
	[SUBR_MUTEX_TYPE_ADAPTIVE] = ARGS(1, 1),
	[SUBR_MUTEX_TYPE_SPIN] = ARGS(1, 1),
	[SUBR_RW_READ_HELD] = ARGS(1, 1),
	[SUBR_RW_WRITE_HELD] = ARGS(1, 1),
	[SUBR_RW_ISWRITER] = ARGS(1, 1),
	[SUBR_COPYIN] = ARGS(2, 2),
	[SUBR_COPYINSTR] = ARGS(1, 2),
	[SUBR_SPECULATION] = ARGS(0, 0),
	[SUBR_PROGENYOF] = ARGS(1, 1),
	[SUBR_STRLEN] = ARGS(1, 1),
	[SUBR_COPYOUT] = { 3, 3, true },
	[SUBR_COPYOUTSTR] = { 3, 3, true },
	[SUBR_ALLOCA] = ARGS(1, 1),
	[SUBR_BCOPY] = ARGS(3, 3),
	[SUBR_COPYINTO] = ARGS(3, 3),
	[SUBR_MSGDSIZE] = REFUSED,
	[SUBR_MSGSIZE] = REFUSED,
	[SUBR_GETMAJOR] = ARGS(1, 1),
	[SUBR_GETMINOR] = ARGS(1, 1),
	[SUBR_DDI_PATHNAME] = REFUSED,
	[SUBR_STRJOIN] = ARGS(2, 2),
	[SUBR_LLTOSTR] = ARGS(1, 2),
	[SUBR_BASENAME] = ARGS(1, 1),
	[SUBR_DIRNAME] = ARGS(1, 1),
	[SUBR_CLEANPATH] = ARGS(1, 1),
	[SUBR_STRCHR] = ARGS(2, 2),
	[SUBR_STRRCHR] = ARGS(2, 2),
	[SUBR_STRSTR] = ARGS(2, 2),
	[SUBR_STRTOK] = ARGS(2, 2),
	[SUBR_SUBSTR] = ARGS(2, 3),
	[SUBR_INDEX] = ARGS(2, 3),
	[SUBR_RINDEX] = ARGS(2, 3),
	[SUBR_HTONS] = ARGS(1, 1),
	[SUBR_HTONL] = ARGS(1, 1),
	[SUBR_HTONLL] = ARGS(1, 1),
	[SUBR_NTOHS] = ARGS(1, 1),
	[SUBR_NTOHL] = ARGS(1, 1),
	[SUBR_NTOHLL] = ARGS(1, 1),
	[SUBR_INET_NTOP] = ARGS(2, 2),
	[SUBR_INET_NTOA] = ARGS(1, 1),
	[SUBR_INET_NTOA6] = ARGS(1, 1),
	[SUBR_TOUPPER] = ARGS(1, 1),
	[SUBR_TOLOWER] = ARGS(1, 1),
	[SUBR_MEMREF] = ARGS(2, 2),
	[SUBR_SX_SHARED_HELD] = REFUSED,
	[SUBR_SX_EXCLUSIVE_HELD] = REFUSED,
	[SUBR_SX_ISEXCLUSIVE] = REFUSED,
	[SUBR_MEMSTR] = ARGS(3, 3),
	[SUBR_GETF] = REFUSED,
	[SUBR_JSON] = ARGS(2, 2),
	[SUBR_STRTOLL] = ARGS(1, 2),
	[SUBR_D_PATH] = ARGS(1, 1),
	[SUBR_LINK_NTOP] = ARGS(2, 2),
};

const struct kinst_subr_args *kinst_subr_args(u32 subr)
{
	return subr < SUBR_MAX ? &table[subr] : NULL;
}

/* ---- memory ---- */

static __at_hit u64 alloca_(struct kinst_ctx *c, u64 n)
{
	void *p = kinst_scratch(c, n);

	if (!p || !kinst_burn(c, n / 8))
		return 0;
	memset(p, 0, n);
	return (u64)(uintptr_t)p;
}
NOKPROBE_SYMBOL(alloca_);

/* As a string, the copy ends with a NUL, not with leftovers of an earlier program. */
static __at_hit u64 copyin(struct kinst_ctx *c, u64 addr, u64 n)
{
	u8 *p = kinst_scratch(c, max(n, n + 1));

	if (!p || !kinst_load(c, p, addr, n, true))
		return 0;
	p[n] = 0;
	return (u64)(uintptr_t)p;
}
NOKPROBE_SYMBOL(copyin);

/* bcopy and copyinto: copy to memory that a program may write. */
static __at_hit void copy_to_own(struct kinst_ctx *c, u64 src, u64 dst, u64 n, bool user)
{
	if (!kinst_storable(c, dst, n))
		kinst_fault(c, KINST_FLT_BADADDR, dst);
	else
		kinst_load(c, (void *)(uintptr_t)dst, src, n, user);
}
NOKPROBE_SYMBOL(copy_to_own);

/* copyout and copyoutstr, through scratch memory that is released afterwards. */
static __at_hit void copyout(struct kinst_ctx *c, u64 src, u64 dst, u64 n, bool string)
{
	u8 *keep = c->scratch_next, *p;

	if (!n)
		return;
	if (string)
		n = min_t(u64, n, c->prog->strsize);
	p = kinst_scratch(c, n);
	if (!p)
		return;
	if (string)
		n = kinst_load_str(c, (char *)p, src, n, false) + 1;
	else
		kinst_load(c, p, src, n, false);
	if (!c->faulted && !kinst_env_write_user(c, dst, p, n))
		kinst_fault(c, KINST_FLT_BADADDR, dst);
	c->scratch_next = keep;
}
NOKPROBE_SYMBOL(copyout);

static __at_hit u64 memstr(struct kinst_ctx *c, u64 mem, char filler, u64 n)
{
	u8 *p;
	u64 i;

	if (!n)
		return 0;
	if (n > MEMSTR_MAX) {
		kinst_fault(c, KINST_FLT_ILLOP, 0);
		return 0;
	}
	p = kinst_scratch(c, n);
	if (!p || !kinst_load(c, p, mem, n - 1, false))
		return 0;
	for (i = 0; i < n - 1; i++)
		if (!p[i])
			p[i] = filler;
	p[n - 1] = 0;
	return (u64)(uintptr_t)p;
}
NOKPROBE_SYMBOL(memstr);

/* An address and a length, the operand of printm(). */
static __at_hit u64 memref(struct kinst_ctx *c, u64 addr, u64 n)
{
	u64 *p = kinst_scratch(c, 2 * sizeof(*p));

	if (!p)
		return 0;
	p[0] = addr;
	p[1] = n;
	return (u64)(uintptr_t)p;
}
NOKPROBE_SYMBOL(memref);

/* ---- network addresses ---- */

static __at_hit char *put_number(char *s, u32 v, u32 base)
{
	char digits[12];
	u32 n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n)
		*s++ = digits[--n];
	return s;
}
NOKPROBE_SYMBOL(put_number);

static __at_hit char *put_ipv4(char *s, const u8 *a)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		if (i)
			*s++ = '.';
		s = put_number(s, a[i], 10);
	}
	return s;
}
NOKPROBE_SYMBOL(put_ipv4);

/*
 * RFC 5952: the first of the longest runs of two or more zeros becomes "::". An embedded IPv4 address
 * (RFC 4291, 2.5.5) is written in IPv4 notation, except 0.0.x.y, so that ::1 is unchanged.
 */
static __at_hit char *put_ipv6(char *s, const u8 *a)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff }, compatible[12];
	u32 w[8], i, run = 0, best = 0, at = 8;

	if (!memcmp(a, mapped, sizeof(mapped))) {
		memcpy(s, "::ffff:", 7);
		return put_ipv4(s + 7, a + 12);
	}
	if (!memcmp(a, compatible, sizeof(compatible)) && (a[12] || a[13])) {
		memcpy(s, "::", 2);
		return put_ipv4(s + 2, a + 12);
	}
	for (i = 0; i < 8; i++) {
		w[i] = a[2 * i] << 8 | a[2 * i + 1];
		run = w[i] ? 0 : run + 1;
		if (run > best && run > 1) {
			best = run;
			at = i + 1 - run;
		}
	}
	for (i = 0; i < 8; i++) {
		if (i == at) {
			*s++ = ':';
			i += best - 1;
			if (i == 7)
				*s++ = ':';
			continue;
		}
		if (i)
			*s++ = ':';
		s = put_number(s, w[i], 16);
	}
	return s;
}
NOKPROBE_SYMBOL(put_ipv6);

static __at_hit u64 ntop(struct kinst_ctx *c, u64 addr, bool v6)
{
	char text[NTOA_MAX], *end;
	u8 bytes[16];

	if (!kinst_load(c, bytes, addr, v6 ? 16 : 4, false))
		return 0;
	end = v6 ? put_ipv6(text, bytes) : put_ipv4(text, bytes);
	return kinst_new_string(c, text, end - text);
}
NOKPROBE_SYMBOL(ntop);

/* D programs use Linux's address families: AF_INET and AF_INET6. */
static __at_hit u64 inet_ntop(struct kinst_ctx *c, u64 family, u64 addr)
{
	if ((u32)family == 2 || (u32)family == 10)
		return ntop(c, addr, (u32)family == 10);
	kinst_fault(c, KINST_FLT_ILLOP, family);
	return 0;
}
NOKPROBE_SYMBOL(inet_ntop);

#define ARPHRD_ETHER 1
#define ARPHRD_INFINIBAND 32
#define LINK_ADDR_MAX 20

static __at_hit u64 link_ntop(struct kinst_ctx *c, u64 type, u64 addr)
{
	u32 n = (u32)type == ARPHRD_ETHER ? 6 : (u32)type == ARPHRD_INFINIBAND ? LINK_ADDR_MAX : 0, i;
	char text[3 * LINK_ADDR_MAX];
	u8 bytes[LINK_ADDR_MAX];

	if (!n) {
		kinst_fault(c, KINST_FLT_ILLOP, type);
		return 0;
	}
	if (!kinst_load(c, bytes, addr, n, false))
		return 0;
	for (i = 0; i < n; i++) {
		text[3 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[3 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
		text[3 * i + 2] = ':';
	}
	return kinst_new_string(c, text, 3 * n - 1);
}
NOKPROBE_SYMBOL(link_ntop);

/* ---- all of them ---- */

__at_hit u64 kinst_dif_subr(struct kinst_ctx *c, u32 subr)
{
	const struct kinst_tuple *t = c->tuple;

	if (c->ntuple < (u32)table[subr].min) {
		kinst_fault(c, KINST_FLT_ILLOP, 0);
		return 0;
	}
	if (!kinst_burn(c, KINST_CALL_STEPS))
		return 0;
	switch (subr) {
	case SUBR_ALLOCA:
		return alloca_(c, t[0].value);
	case SUBR_COPYIN:
		return copyin(c, t[0].value, t[1].value);
	case SUBR_COPYINTO:
		copy_to_own(c, t[0].value, t[2].value, t[1].value, true);
		return 0;
	case SUBR_BCOPY:
		copy_to_own(c, t[0].value, t[1].value, t[2].value, false);
		return 0;
	case SUBR_COPYOUT:
	case SUBR_COPYOUTSTR:
		copyout(c, t[0].value, t[1].value, t[2].value, subr == SUBR_COPYOUTSTR);
		return 0;
	case SUBR_SPECULATION:
		return kinst_spec_new(c);
	case SUBR_JSON:
		return kinst_json(c);
	case SUBR_MEMREF:
		return memref(c, t[0].value, t[1].value);
	case SUBR_MEMSTR:
		return memstr(c, t[0].value, t[1].value, t[2].value);
	case SUBR_HTONS:
	case SUBR_NTOHS:
		return swab16((u16)t[0].value);
	case SUBR_HTONL:
	case SUBR_NTOHL:
		return swab32((u32)t[0].value);
	case SUBR_HTONLL:
	case SUBR_NTOHLL:
		return swab64(t[0].value);
	case SUBR_GETMAJOR: /* the kernel's internal dev_t */
		return (u32)t[0].value >> 20;
	case SUBR_GETMINOR:
		return (u32)t[0].value & 0xfffff;
	case SUBR_LINK_NTOP:
		return link_ntop(c, t[0].value, t[1].value);
	case SUBR_INET_NTOP:
		return inet_ntop(c, t[0].value, t[1].value);
	case SUBR_INET_NTOA:
	case SUBR_INET_NTOA6:
		return ntop(c, t[0].value, subr == SUBR_INET_NTOA6);
	case SUBR_RAND:
	case SUBR_MUTEX_OWNED:
	case SUBR_MUTEX_OWNER:
	case SUBR_MUTEX_TYPE_ADAPTIVE:
	case SUBR_MUTEX_TYPE_SPIN:
	case SUBR_RW_READ_HELD:
	case SUBR_RW_WRITE_HELD:
	case SUBR_RW_ISWRITER:
	case SUBR_PROGENYOF:
	case SUBR_D_PATH:
		return kinst_env_subr(c, subr);
	default:
		return kinst_str_subr(c, subr);
	}
}
NOKPROBE_SYMBOL(kinst_dif_subr);
