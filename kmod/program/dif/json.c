// SPDX-License-Identifier: GPL-2.0
/*
 * program/dif/json.c: json(): extracts one value from a JSON string.
 *
 * The string is walked once, without recursion; values that are not on the path are skipped.
 * Skipped parts need not be valid. If an examined part is invalid, the result is NULL.
 *
 * Context: probe; in the guard, interrupts off. All strings here end with NUL.
 */
#include "context.h"
#include "program/session.h"

#define MAX_INDEX 65536 /* of an array: more elements than a string can have */

static nokprobe_inline const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
		s++;
	return s;
}

/* Returns the end of the string that begins at s, after its quote; NULL if it does not end. */
static __at_hit const char *skip_string(const char *s)
{
	for (s++; *s && *s != '"'; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : NULL;
}
NOKPROBE_SYMBOL(skip_string);

/* Whether ch may be part of a number, true, false or null. */
static nokprobe_inline bool in_word(char ch)
{
	return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '-' ||
	       ch == '+' || ch == '.';
}

/* Returns the end of the value that begins at s; NULL if s is not a value, or it does not end. */
static __at_hit const char *skip_value(const char *s)
{
	const char *start = s;
	u32 depth = 0;

	do {
		if (*s == '"') {
			s = skip_string(s);
			if (!s)
				return NULL;
		} else if (*s == '{' || *s == '[') {
			depth++;
			s++;
		} else if (!*s) {
			return NULL;
		} else if (depth) {
			depth -= *s == '}' || *s == ']';
			s++;
		} else {
			while (in_word(*s))
				s++;
			if (s == start)
				return NULL;
		}
	} while (depth);
	return s;
}
NOKPROBE_SYMBOL(skip_value);

/* The value after the one at s, in the same object or array; NULL if there is none. */
static __at_hit const char *next_value(const char *s)
{
	s = skip_value(s);
	if (!s)
		return NULL;
	s = skip_blanks(s);
	return *s == ',' ? skip_blanks(s + 1) : NULL;
}
NOKPROBE_SYMBOL(next_value);

/* The value of the key of n bytes in the object whose first key is at s. */
static __at_hit const char *in_object(const char *s, const char *key, u64 n)
{
	while (s && *s == '"') {
		const char *name = s + 1, *end = skip_string(s);

		if (!end)
			return NULL;
		s = skip_blanks(end);
		if (*s != ':')
			return NULL;
		s = skip_blanks(s + 1);
		if (end - 1 - name == n && !memcmp(name, key, n))
			return s;
		s = next_value(s);
	}
	return NULL;
}
NOKPROBE_SYMBOL(in_object);

/* The element with the index that the n digits spell, in the array whose first element is at s. */
static __at_hit const char *in_array(const char *s, const char *digits, u64 n)
{
	u64 index = 0, i;

	for (i = 0; i < n; i++) {
		if (digits[i] < '0' || digits[i] > '9' || index > MAX_INDEX)
			return NULL;
		index = index * 10 + digits[i] - '0';
	}
	while (s && n && index--)
		s = next_value(s);
	return n ? s : NULL;
}
NOKPROBE_SYMBOL(in_array);

/* The value that a path such as a.b[2].c leads to; NULL if there is none. */
static __at_hit const char *find(const char *s, const char *path)
{
	u64 n;

	for (path += *path == '[';; path++) {
		for (n = 0; path[n] && path[n] != '.' && path[n] != '[' && path[n] != ']'; n++)
			;
		s = skip_blanks(s);
		if (*s == '{')
			s = in_object(skip_blanks(s + 1), path, n);
		else if (*s == '[')
			s = in_array(skip_blanks(s + 1), path, n);
		else
			return NULL;
		if (!s)
			return NULL;
		path += n;
		path += *path == ']';
		if (!*path)
			return s;
		if (*path == ']')
			return NULL;
	}
}
NOKPROBE_SYMBOL(find);

__at_hit u64 kinst_json(struct kinst_ctx *c)
{
	char *text = c->vcpu->str[0], *path = c->vcpu->str[1];
	const char *s, *end;
	u64 n = kinst_load_str(c, text, c->tuple[0].value, c->prog->strsize, false);

	if (!c->faulted)
		n += kinst_load_str(c, path, c->tuple[1].value, c->prog->strsize, false);
	if (c->faulted || !kinst_burn(c, n / 8))
		return 0;
	s = find(text, path);
	end = s ? skip_value(s) : NULL;
	if (!end)
		return 0;
	return *s == '"' ? kinst_new_string(c, s + 1, end - s - 2) : kinst_new_string(c, s, end - s);
}
NOKPROBE_SYMBOL(kinst_json);
