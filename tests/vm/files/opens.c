/*
 * opens.c: opens that fail in ways that are known, and others that do not fail.
 *
 *   opens TIMES...   each of these so often: good, bad (flags that do not go together: EINVAL), missing (ENOENT),
 *                    denied (EACCES, after it has become nobody)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void opens(const char *path, int flags, int error, long times)
{
	while (times--) {
		int fd = open(path, flags);

		if (fd >= 0 ? error : errno != error) {
			perror(path);
			exit(1);
		}
		close(fd);
	}
}

int main(int argc, char **argv)
{
	const char *path = "/tmp/opened";
	int fd = open(path, O_CREAT | O_WRONLY, 0);

	if (argc != 5 || fd < 0 || fchmod(fd, 0644))
		return 1;
	opens(path, O_RDONLY, 0, atol(argv[1]));
	opens(path, O_TMPFILE & ~O_DIRECTORY, EINVAL, atol(argv[2]));
	opens("/tmp/there is no such file", O_RDONLY, ENOENT, atol(argv[3]));
	if (fchmod(fd, 0) || setuid(65534))
		return 1;
	opens(path, O_RDONLY, EACCES, atol(argv[4]));
	return 0;
}
