// SPDX-License-Identifier: GPL-2.0
/*
 * program/dif/str.c: the subroutines on strings.
 *
 * An operand is first copied to a buffer of the CPU, so that it cannot change during the
 * operation; at most strsize bytes of it count. A result is in scratch memory,
 * or an address inside the operand (strchr, strrchr, strstr).
 *
 * Context: probe; in the guard, interrupts off.
 */
#include "context.h"
#include "program/session.h"

/* Fetches string argument i to the CPU's buffer for it. Returns its length, or -1 and a fault. */
static __at_hit s64 fetch(struct kinst_ctx *c, u32 i, char **s)
{
	u64 len;

	*s = c->vcpu->str[i];
	len = kinst_load_str(c, *s, c->tuple[i].value, c->prog->strsize, false);
	return c->faulted ? -1 : (s64)len;
}
NOKPROBE_SYMBOL(fetch);

static __at_hit u64 strjoin(struct kinst_ctx *c)
{
	char *a, *b, *p;
	s64 na = fetch(c, 0, &a), nb = na < 0 ? -1 : fetch(c, 1, &b);

	if (nb < 0)
		return 0;
	nb = min_t(s64, nb, c->prog->strsize - 1 - na);
	p = kinst_scratch(c, na + nb + 1);
	if (!p)
		return 0;
	memcpy(p, a, na);
	memcpy(p + na, b, nb);
	p[na + nb] = 0;
	return (u64)(uintptr_t)p;
}
NOKPROBE_SYMBOL(strjoin);

static __at_hit u64 change_case(struct kinst_ctx *c, char from, char to)
{
	char *s;
	s64 n = fetch(c, 0, &s), i;

	for (i = 0; i < n; i++)
		if (s[i] >= from && s[i] < from + 26)
			s[i] += to - from;
	return n < 0 ? 0 : kinst_new_string(c, s, n);
}
NOKPROBE_SYMBOL(change_case);

/* strchr, strrchr: the terminating NUL counts as a character. */
static __at_hit u64 find_char(struct kinst_ctx *c, bool last)
{
	char *s, ch = c->tuple[1].value;
	s64 n = fetch(c, 0, &s), i, at = -1;

	for (i = 0; i <= n && (last || at < 0); i++)
		if (s[i] == ch)
			at = i;
	return at < 0 ? 0 : c->tuple[0].value + at;
}
NOKPROBE_SYMBOL(find_char);

/*
 * The first i of from, from + step, .. up to but not including end at which t is in s; -1: none.
 * Each position costs the bytes compared.
 */
static __at_hit s64 search(struct kinst_ctx *c, const char *s, s64 n, const char *t, s64 nt, s64 from, s64 end, s64 step)
{
	s64 i;

	for (i = from; i != end; i += step) {
		if (i + nt <= n && !memcmp(s + i, t, nt))
			return i;
		if (!kinst_burn(c, 1 + nt / 64))
			return -1;
	}
	return -1;
}
NOKPROBE_SYMBOL(search);

/*
 * strstr, index, rindex. index and rindex take a start, with Perl's rules: for
 * index, a negative start means 0; for rindex, a start beyond the end means the end;
 * and an empty t is found even for a start outside the string.
 */
static __at_hit s64 find_str(struct kinst_ctx *c, u32 subr)
{
	char *s, *t;
	s64 n = fetch(c, 0, &s), nt = n < 0 ? -1 : fetch(c, 1, &t);
	s64 start = subr == SUBR_RINDEX ? n : 0;

	if (nt < 0)
		return -1;
	if (!n && !nt)
		return 0;
	if (subr != SUBR_STRSTR && c->ntuple >= 3) {
		start = c->tuple[2].value;
		if (subr == SUBR_INDEX && start >= n)
			return nt ? -1 : n;
		if (subr == SUBR_RINDEX && start < 0)
			return nt ? -1 : 0;
		start = clamp_t(s64, start, 0, n);
	}
	return subr == SUBR_RINDEX ? search(c, s, n, t, nt, start, -1, -1) : search(c, s, n, t, nt, start, n, 1);
}
NOKPROBE_SYMBOL(find_str);

/* A negative index counts from the end; a negative length omits that many characters at the end. */
static __at_hit u64 substr(struct kinst_ctx *c)
{
	char *s;
	s64 n = fetch(c, 0, &s), size = c->prog->strsize, at = c->tuple[1].value;
	s64 rest = c->ntuple >= 3 ? (s64)c->tuple[2].value : size;

	if (n < 0)
		return 0;
	if (at < 0) {
		at += n;
		if (at < 0 && rest > 0 && rest + at > 0) {
			rest += at;
			at = 0;
		}
	}
	if (at < 0 || at >= n)
		rest = 0;
	else if (rest < 0)
		rest = rest < -n ? 0 : max_t(s64, rest + n - at, 0);
	else
		rest = min(rest, n - at);
	return kinst_new_string(c, rest ? s + at : "", rest);
}
NOKPROBE_SYMBOL(substr);

/*
 * Each call has its own separators; the position in the string is saved for the next call.
 * All strsize bytes of a string count; the part that does not fit in one token is the next one.
 */
static __at_hit u64 str_tok(struct kinst_ctx *c)
{
	u64 addr = c->tuple[0].value ?: c->strtok, limit = c->tuple[0].value ? c->prog->strsize : c->strtok_limit;
	u64 map[4] = {};
	char *s, *t;
	s64 n, nt, i, start;

	if (!addr)
		return 0; /* the string is exhausted, or none was given */
	nt = fetch(c, 1, &t);
	if (nt < 0)
		return 0;
	for (i = 0; i < nt; i++)
		map[(u8)t[i] / 64] |= 1ull << (u8)t[i] % 64;
#define IS_SEPARATOR(ch) (map[(u8)(ch) / 64] >> (u8)(ch) % 64 & 1)
	s = c->vcpu->str[0];
	n = kinst_load_text(c, s, addr, limit, false);
	if (c->faulted)
		return 0;
	for (i = 0; i < n && IS_SEPARATOR(s[i]); i++)
		;
	if (i == n) {
		c->strtok = 0;
		return 0;
	}
	for (start = i; i < n && i - start < c->prog->strsize - 1 && !IS_SEPARATOR(s[i]); i++)
		;
#undef IS_SEPARATOR
	c->strtok = addr + i;
	c->strtok_limit = limit - i;
	return kinst_new_string(c, s + start, i - start);
}
NOKPROBE_SYMBOL(str_tok);

/* ---- paths ---- */

/* As in basename(3) and dirname(3): "" gives ".", only slashes give "/". */
static __at_hit u64 split_path(struct kinst_ctx *c, bool dir)
{
	char *s;
	s64 n = fetch(c, 0, &s), base;

	if (n < 0)
		return 0;
	if (!n)
		return kinst_new_string(c, ".", 1);
	while (n > 1 && s[n - 1] == '/')
		n--;
	if (s[n - 1] == '/')
		return kinst_new_string(c, "/", 1);
	for (base = n; base && s[base - 1] != '/'; base--)
		;
	if (!dir)
		return kinst_new_string(c, s + base, n - base);
	if (!base)
		return kinst_new_string(c, ".", 1);
	for (n = base; n > 1 && s[n - 1] == '/'; n--)
		;
	return kinst_new_string(c, s, n);
}
NOKPROBE_SYMBOL(split_path);

/* Whether .. is the last component of the j bytes at s. */
static nokprobe_inline bool ends_in_parent(const char *s, s64 j)
{
	return j >= 2 && s[j - 1] == '.' && s[j - 2] == '.' && (j == 2 || s[j - 3] == '/');
}

/*
 * Drops empty components and ".", and ".." with the preceding component; at the
 * very end an empty one and "." are kept. A relative path
 * stays relative. Works in place: the output never overtakes the input.
 */
static __at_hit u64 cleanpath(struct kinst_ctx *c)
{
	char *s;
	s64 n = fetch(c, 0, &s), i = 0, j = 0, end;
	bool relative = n > 0 && s[0] != '/';

	if (n < 0)
		return 0;
	while (i < n && s[i] != '/')
		s[j++] = s[i++];
	for (; i < n; i = end) { /* s[i] is a slash, a component follows */
		s64 len;

		for (end = i + 1; end < n && s[end] != '/'; end++)
			;
		len = end - i - 1;
		if (end < n && (!len || (len == 1 && s[i + 1] == '.')))
			continue;
		if (len == 2 && s[i + 1] == '.' && s[i + 2] == '.' && !(relative && (!j || ends_in_parent(s, j)))) {
			while (j && s[--j] != '/')
				;
			if (end == n && s[j] == '/' && !(relative && !j))
				j++; /* the root, or the directory with its slash */
			continue;
		}
		if (relative && !j)
			i++;
		memmove(s + j, s + i, end - i);
		j += end - i;
	}
	return kinst_new_string(c, s, j);
}
NOKPROBE_SYMBOL(cleanpath);

/* ---- numbers ---- */

static __at_hit bool bad_base(struct kinst_ctx *c, s64 base)
{
	if (base >= 2 && base <= 36)
		return false;
	kinst_fault(c, KINST_FLT_ILLOP, base);
	return true;
}
NOKPROBE_SYMBOL(bad_base);

/* Base 10 is signed; base 8 has the prefix 0, base 16 the prefix 0x. */
static __at_hit u64 lltostr(struct kinst_ctx *c)
{
	s64 v = c->tuple[0].value, base = c->ntuple > 1 ? (s64)(s32)c->tuple[1].value : 10;
	u64 rest = base == 10 && v < 0 ? -(u64)v : (u64)v;
	char text[72], *p = text + sizeof(text);

	if (bad_base(c, base))
		return 0;
	for (; rest; rest = div_u64(rest, base)) {
		u32 digit = rest - div_u64(rest, base) * base;

		*--p = digit < 10 ? '0' + digit : 'a' + digit - 10;
	}
	if (!v && base == 16)
		*--p = '0';
	if (base == 16)
		*--p = 'x';
	if (!v || base == 8 || base == 16)
		*--p = '0';
	if (v < 0 && base == 10)
		*--p = '-';
	return kinst_new_string(c, p, text + sizeof(text) - p);
}
NOKPROBE_SYMBOL(lltostr);

static nokprobe_inline u32 digit_of(char ch)
{
	return ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'z' ? ch - 'a' + 10 :
	       ch >= 'A' && ch <= 'Z' ? ch - 'A' + 10 : 99;
}

/* Blanks, a sign, 0x with base 16, digits; ends at the first other character; wraps. */
static __at_hit u64 str_to_ll(struct kinst_ctx *c)
{
	s64 base = c->ntuple > 1 ? (s64)(s32)c->tuple[1].value : 10;
	bool negative = false;
	u64 v = 0;
	char *s;

	if (bad_base(c, base) || fetch(c, 0, &s) < 0)
		return 0;
	while (*s == ' ' || (*s >= '\t' && *s <= '\r'))
		s++;
	if (*s == '-' || *s == '+')
		negative = *s++ == '-';
	if (base == 16 && s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	for (; digit_of(*s) < base; s++)
		v = v * base + digit_of(*s);
	return negative ? -v : v;
}
NOKPROBE_SYMBOL(str_to_ll);

static __at_hit u64 copyinstr(struct kinst_ctx *c)
{
	u64 limit = c->prog->strsize, n;
	char *s = c->vcpu->str[0];

	if (c->ntuple > 1)
		limit = min(limit, c->tuple[1].value);
	if (!limit)
		return kinst_new_string(c, "", 0);
	n = kinst_load_str(c, s, c->tuple[0].value, limit, true);
	return c->faulted ? 0 : kinst_new_string(c, s, n);
}
NOKPROBE_SYMBOL(copyinstr);

__at_hit u64 kinst_str_subr(struct kinst_ctx *c, u32 subr)
{
	s64 at;

	switch (subr) {
	case SUBR_STRLEN:
		return kinst_strnlen(c, c->tuple[0].value, c->prog->strsize);
	case SUBR_COPYINSTR:
		return copyinstr(c);
	case SUBR_STRJOIN:
		return strjoin(c);
	case SUBR_LLTOSTR:
		return lltostr(c);
	case SUBR_STRTOLL:
		return str_to_ll(c);
	case SUBR_BASENAME:
	case SUBR_DIRNAME:
		return split_path(c, subr == SUBR_DIRNAME);
	case SUBR_CLEANPATH:
		return cleanpath(c);
	case SUBR_STRCHR:
	case SUBR_STRRCHR:
		return find_char(c, subr == SUBR_STRRCHR);
	case SUBR_STRSTR:
		at = find_str(c, subr);
		return at < 0 ? 0 : c->tuple[0].value + at;
	case SUBR_INDEX:
	case SUBR_RINDEX:
		return find_str(c, subr);
	case SUBR_STRTOK:
		return str_tok(c);
	case SUBR_SUBSTR:
		return substr(c);
	case SUBR_TOUPPER:
		return change_case(c, 'a', 'A');
	case SUBR_TOLOWER:
		return change_case(c, 'A', 'a');
	}
	return 0;
}
NOKPROBE_SYMBOL(kinst_str_subr);
