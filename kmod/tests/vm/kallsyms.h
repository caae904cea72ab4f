/* SPDX-License-Identifier: GPL-2.0 */
/* kallsyms.h: the contents of /proc/kallsyms, which is long, and takes an emulated machine a while to read. */
#ifndef _KINST_KALLSYMS_H
#define _KINST_KALLSYMS_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The beginning of the names of the functions for system calls, and one of these that calls no other. */
#ifdef __aarch64__
#define SYSTEM_CALL "__arm64_sys_"
#define GETPPID "__arm64_sys_getppid"
#else
#define SYSTEM_CALL "__x64_sys_"
#define GETPPID "__do_sys_getppid"
#endif

/* All of /proc/kallsyms, with a zero byte after it; NULL if it cannot be read. The caller frees it. */
static inline char *read_kallsyms(void)
{
	size_t room = 1 << 24, length = 0;
	char *text = malloc(room);
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && text) {
		if (length + 1 == room)
			text = realloc(text, room *= 2);
		n = text ? read(fd, text + length, room - 1 - length) : -1;
		length += n > 0 ? n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (n < 0 || !text) {
		free(text);
		return NULL;
	}
	text[length] = '\0';
	return text;
}

/* The address of a function in these contents, or 0. A line is `ADDRESS T NAME`, optionally a tab and the module. */
static inline uint64_t find_function(const char *text, const char *name)
{
	size_t length = strlen(name);
	const char *at;

	for (at = strstr(text, name); at; at = strstr(at + 1, name)) {
		char end = at[length];
		const char *line = at - 19; /* 16 digits, a blank, the type, a blank */

		if (end && end != '\n' && end != '\t')
			continue;
		if (line >= text && at[-1] == ' ' && (at[-2] | 32) == 't' && at[-3] == ' ')
			return strtoull(line, NULL, 16);
	}
	return 0;
}

#endif /* _KINST_KALLSYMS_H */
