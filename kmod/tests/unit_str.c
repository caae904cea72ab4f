// SPDX-License-Identifier: GPL-2.0
/* unit_str.c: the subroutines, mostly on strings. */
#include "unit.h"

#define MAXARGS 3

/* An argument: a string, or (s == NULL) a number. */
struct arg {
	const char *s;
	s64 n;
};

/* Calls a subroutine; copies a string result to out, unless that is NULL. */
static u64 call(u32 subr, const struct arg *args, u32 n, char *out, s32 *fault)
{
	static struct fixture f;
	struct ib b;
	u32 w[32], nw = 0, i, nints = 0, nstr = 1;
	u64 ints[MAXARGS], v;
	char strs[1024] = "";

	for (i = 0; i < n; i++) {
		if (args[i].s) {
			w[nw++] = I_SETS(nstr, 1);
			strcpy(strs + nstr, args[i].s);
			nstr += strlen(args[i].s) + 1;
			w[nw++] = I_PUSHS(1);
		} else {
			ints[nints] = args[i].n;
			w[nw++] = I_SETX(nints++, 1);
			w[nw++] = I_PUSHV(1);
		}
	}
	w[nw++] = I_CALL(subr, 2);
	w[nw++] = I_RET(2);
	ib_init(&b);
	b.h.strsize = 64;
	ib_difo(&b, w, nw, ints, nints, strs, nstr, T_INT(8));
	if (fixture_open(&f, &b) != KINST_V_OK) {
		*fault = -2;
		return 0;
	}
	f.c->strtok = 0;
	/* Leftovers of earlier programs. */
	memset(f.s.vcpus[0]->scratch, '#', kinst_scratch_size(&f.s.prog));
	v = fixture_run(&f, 0);
	*fault = f.c->faulted ? (s32)f.c->fault : -1;
	if (out) {
		strcpy(out, "(null)");
		if (v && !f.c->faulted)
			strcpy(out, (char *)(uintptr_t)v);
	}
	fixture_close(&f);
	return v;
}

#define S(x) { .s = x }
#define N(x) { .n = x }

static void test_strings(void)
{
	static const struct {
		u32 subr, n;
		struct arg a[MAXARGS];
		const char *want;
	} cases[] = {
		{ SUBR_STRJOIN, 2, { S("ab"), S("cd") }, "abcd" },
		{ SUBR_STRJOIN, 2, { S(""), S("") }, "" },
		{ SUBR_COPYIN, 2, { S("abcdefghij"), N(6) }, "abcdef" },
		{ SUBR_COPYIN, 2, { S("abcdefghij"), N(8) }, "abcdefgh" },
		{ SUBR_TOUPPER, 1, { S("aZ[`{9z") }, "AZ[`{9Z" },
		{ SUBR_TOLOWER, 1, { S("AbZ@[") }, "abz@[" },
		{ SUBR_STRCHR, 2, { S("hello"), N('l') }, "llo" },
		{ SUBR_STRCHR, 2, { S("hello"), N('x') }, "(null)" },
		{ SUBR_STRCHR, 2, { S("hello"), N(0) }, "" },
		{ SUBR_STRRCHR, 2, { S("hello"), N('l') }, "lo" },
		{ SUBR_STRRCHR, 2, { S("hello"), N('x') }, "(null)" },
		{ SUBR_STRSTR, 2, { S("hello"), S("ll") }, "llo" },
		{ SUBR_STRSTR, 2, { S("hello"), S("lo!") }, "(null)" },
		{ SUBR_STRSTR, 2, { S("hello"), S("") }, "hello" },
		{ SUBR_STRTOK, 2, { S("::ab:c"), S(":") }, "ab" },
		{ SUBR_STRTOK, 2, { S(":::"), S(":") }, "(null)" },
		{ SUBR_SUBSTR, 2, { S("abcdef"), N(2) }, "cdef" },
		{ SUBR_SUBSTR, 3, { S("abcdef"), N(2), N(3) }, "cde" },
		{ SUBR_SUBSTR, 3, { S("abcdef"), N(-2), N(1) }, "e" },
		{ SUBR_SUBSTR, 3, { S("abcdef"), N(1), N(-2) }, "bcd" },
		{ SUBR_SUBSTR, 3, { S("abcdef"), N(-8), N(4) }, "ab" },
		{ SUBR_SUBSTR, 3, { S("abcdef"), N(-8), N(2) }, "" },
		{ SUBR_SUBSTR, 2, { S("abcdef"), N(6) }, "" },
		{ SUBR_SUBSTR, 3, { S("abcdef"), N(0), N(-9) }, "" },
		{ SUBR_SUBSTR, 3, { S("abcdef"), N(INT64_MIN), N(INT64_MAX) }, "abcde" },
		{ SUBR_SUBSTR, 3, { S("abcdef"), N(INT64_MAX), N(INT64_MIN) }, "" },
		{ SUBR_SUBSTR, 3, { S("abcdef"), N(0), N(INT64_MIN) }, "" },
		{ SUBR_LLTOSTR, 1, { N(-42) }, "-42" },
		{ SUBR_LLTOSTR, 1, { N(0) }, "0" },
		{ SUBR_LLTOSTR, 1, { N(INT64_MIN) }, "-9223372036854775808" },
		{ SUBR_LLTOSTR, 2, { N(255), N(16) }, "0xff" },
		{ SUBR_LLTOSTR, 2, { N(0), N(16) }, "0x0" },
		{ SUBR_LLTOSTR, 2, { N(8), N(8) }, "010" },
		{ SUBR_LLTOSTR, 2, { N(-1), N(36) }, "3w5e11264sgsf" },
		{ SUBR_BASENAME, 1, { S("/a/b") }, "b" }, { SUBR_DIRNAME, 1, { S("/a/b") }, "/a" },
		{ SUBR_BASENAME, 1, { S("a/b//") }, "b" }, { SUBR_DIRNAME, 1, { S("a//b//") }, "a" },
		{ SUBR_BASENAME, 1, { S("") }, "." }, { SUBR_DIRNAME, 1, { S("") }, "." },
		{ SUBR_BASENAME, 1, { S("///") }, "/" }, { SUBR_DIRNAME, 1, { S("///") }, "/" },
		{ SUBR_BASENAME, 1, { S("foo") }, "foo" }, { SUBR_DIRNAME, 1, { S("foo/") }, "." },
		{ SUBR_DIRNAME, 1, { S("/foo") }, "/" },
		{ SUBR_CLEANPATH, 1, { S("/foo/../bar") }, "/bar" },
		{ SUBR_CLEANPATH, 1, { S("//a/./b//c/../d") }, "/a/b/d" },
		{ SUBR_CLEANPATH, 1, { S("/a/b/..") }, "/a/" },
		{ SUBR_CLEANPATH, 1, { S("/..") }, "/" },
		{ SUBR_CLEANPATH, 1, { S("/../x") }, "/x" },
		{ SUBR_CLEANPATH, 1, { S("a/b/") }, "a/b/" },
		{ SUBR_CLEANPATH, 1, { S("/..x/...") }, "/..x/..." },
		{ SUBR_CLEANPATH, 1, { S("") }, "" },
		{ SUBR_CLEANPATH, 1, { S("a/../b") }, "b" },
		{ SUBR_CLEANPATH, 1, { S("a/..") }, "" },
		{ SUBR_CLEANPATH, 1, { S("a/../../b") }, "../b" },
		{ SUBR_CLEANPATH, 1, { S("../../b/./c") }, "../../b/c" },
		{ SUBR_CLEANPATH, 1, { S("x../../b") }, "b" },
		{ SUBR_INET_NTOA, 1, { S("\x7f\x01\x01\xff") }, "127.1.1.255" },
	};
	char out[4096];
	u32 i;
	s32 fault;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		call(cases[i].subr, cases[i].a, cases[i].n, out, &fault);
		if (fault != -1 || strcmp(out, cases[i].want))
			printf("case %u: \"%s\", not \"%s\" (fault %d)\n", i, out, cases[i].want, fault);
		EXPECT(fault == -1 && !strcmp(out, cases[i].want));
	}
}

static void test_numbers(void)
{
	static const struct {
		u32 subr, n;
		struct arg a[MAXARGS];
		s64 want;
	} cases[] = {
		{ SUBR_STRLEN, 1, { S("hello") }, 5 }, { SUBR_STRLEN, 1, { S("") }, 0 },
		{ SUBR_INDEX, 2, { S("hello"), S("l") }, 2 }, { SUBR_INDEX, 2, { S("hello"), S("x") }, -1 },
		{ SUBR_INDEX, 3, { S("hello"), S("l"), N(3) }, 3 }, { SUBR_INDEX, 3, { S("hello"), S("l"), N(-3) }, 2 },
		{ SUBR_INDEX, 3, { S("hello"), S(""), N(9) }, 5 }, { SUBR_INDEX, 2, { S(""), S("") }, 0 },
		{ SUBR_RINDEX, 2, { S("hello"), S("l") }, 3 }, { SUBR_RINDEX, 3, { S("hello"), S("l"), N(2) }, 2 },
		{ SUBR_RINDEX, 3, { S("hello"), S(""), N(-1) }, 0 }, { SUBR_RINDEX, 3, { S("hello"), S("l"), N(99) }, 3 },
		{ SUBR_RINDEX, 3, { S("hello"), S("h"), N(-1) }, -1 },
		{ SUBR_STRTOLL, 1, { S("  -12x") }, -12 }, { SUBR_STRTOLL, 2, { S("0xfF"), N(16) }, 255 },
		{ SUBR_STRTOLL, 2, { S("+zz"), N(36) }, 1295 }, { SUBR_STRTOLL, 1, { S("") }, 0 },
		{ SUBR_HTONS, 1, { N(0x1234) }, 0x3412 }, { SUBR_NTOHL, 1, { N(0x12345678) }, 0x78563412 },
		{ SUBR_HTONLL, 1, { N(0x0102030405060708) }, 0x0807060504030201 },
		{ SUBR_GETMAJOR, 1, { N(0x800001) }, 8 }, { SUBR_GETMINOR, 1, { N(0x800001) }, 1 },
	};
	static const struct arg bad_base[] = { N(1), N(37) }, null[] = { N(0), N(0) };
	u32 i;
	s32 fault;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s64 v = call(cases[i].subr, cases[i].a, cases[i].n, NULL, &fault);

		if (fault != -1 || v != cases[i].want)
			printf("case %u: %lld (fault %d)\n", i, (long long)v, fault);
		EXPECT(fault == -1 && v == cases[i].want);
	}
	call(SUBR_LLTOSTR, bad_base, 2, NULL, &fault);
	EXPECT(fault == KINST_FLT_ILLOP);
	call(SUBR_STRLEN, null, 1, NULL, &fault);
	EXPECT(fault == KINST_FLT_BADADDR);
	call(SUBR_STRTOK, (struct arg[]){ N(0), S(":") }, 2, NULL, &fault);
	EXPECT(fault == -1);
}

static void test_ipv6(void)
{
	static const struct {
		u8 a[16];
		const char *want;
	} cases[] = {
		{ { 0 }, "::" },
		{ { [15] = 1 }, "::1" },
		{ { 0xfe, 0x80, [15] = 1 }, "fe80::1" },
		{ { 0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1 }, "2001:db8:0:1:1:1:1:1" },
		{ { 0x20, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1 }, "2001:0:0:1::1" },
		{ { 0x12, 0x34 }, "1234::" },
		{ { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 }, "::ffff:10.0.0.1" },
		{ { [12] = 10, 1, 2, 3 }, "::10.1.2.3" },
		{ { [13] = 1 }, "::0.1.0.0" },
		{ { [14] = 1, 2 }, "::102" },
	};
	char out[4096];
	u32 i;
	s32 fault;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arg a[] = { N(10), N((s64)(uintptr_t)cases[i].a) };

		call(SUBR_INET_NTOP, a, 2, out, &fault);
		if (strcmp(out, cases[i].want))
			printf("\"%s\", not \"%s\"\n", out, cases[i].want);
		EXPECT(fault == -1 && !strcmp(out, cases[i].want));
	}
}

/* A string of strsize bytes and no NUL: "a", a blank and a token that ends with z; then without the blank. */
static void test_long_tokens(void)
{
	/* strtok(text, " "); return strtok(0, " ") */
	static const u32 w[] = {
		I_SETS(1, 1), I_SETS(66, 2), I_PUSHS(1), I_PUSHS(2), I_CALL(SUBR_STRTOK, 3),
		I_FLUSH, I_PUSHV(0), I_PUSHS(2), I_CALL(SUBR_STRTOK, 3), I_RET(3),
	};
	char strings[68] = "", *text = strings + 1;
	struct fixture f;
	struct ib b;
	int blank;
	u64 v;

	for (blank = 1; blank >= 0; blank--) {
		memset(text, 'b', 63);
		text[63] = 'z';
		if (blank)
			memcpy(text, "a ", 2);
		strings[66] = ' ';
		ib_init(&b);
		b.h.strsize = 64;
		ib_difo(&b, w, 10, NULL, 0, strings, 68, T_STRING);
		EXPECT(fixture_open(&f, &b) == KINST_V_OK);
		v = fixture_run(&f, 0);
		EXPECT(v && !strcmp((char *)(uintptr_t)v, blank ? text + 2 : "z"));
		fixture_close(&f);
	}
}

/* strtok() continues where it stopped; a string longer than strsize is cut, not overrun. */
static void test_tokens(void)
{
	/* strtok("a b c", " "); strtok(0, " "); return strtok(0, " ") */
	static const u32 w[] = {
		I_SETS(1, 1), I_SETS(7, 2), I_PUSHS(1), I_PUSHS(2), I_CALL(SUBR_STRTOK, 3),
		I_FLUSH, I_PUSHV(0), I_PUSHS(2), I_CALL(SUBR_STRTOK, 3),
		I_FLUSH, I_PUSHV(0), I_PUSHS(2), I_CALL(SUBR_STRTOK, 3), I_RET(3),
	};
	static const char long_[] = "0123456789012345678901234567890123456789012345678901234567890123456789";
	struct fixture f;
	struct ib b;
	char out[4096];
	s32 fault;
	u64 v;

	ib_init(&b);
	ib_difo(&b, w, 14, NULL, 0, "\0a b c\0 ", 9, T_STRING);
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	v = fixture_run(&f, 0);
	EXPECT(v && !strcmp((char *)(uintptr_t)v, "c"));
	fixture_close(&f);
	test_long_tokens();

	call(SUBR_STRJOIN, (struct arg[]){ S(long_), S(long_) }, 2, out, &fault);
	EXPECT(strlen(out) == 63 && fault == -1);
	EXPECT(call(SUBR_STRLEN, (struct arg[]){ S(long_) }, 1, NULL, &fault) == 64);
	call(SUBR_TOUPPER, (struct arg[]){ S(long_) }, 1, out, &fault);
	EXPECT(strlen(out) == 63);
	call(SUBR_CLEANPATH, (struct arg[]){ S(long_) }, 1, out, &fault);
	EXPECT(strlen(out) == 63);
}

void unit_strings(void)
{
	test_strings();
	test_numbers();
	test_ipv6();
	test_tokens();
}
