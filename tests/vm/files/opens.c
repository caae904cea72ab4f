/*
 * opens.c: opens that fail with known errors, and others that succeed.
 *
 *   opens TIMES...   how often to do each: good, bad (conflicting flags: EINVAL), missing (ENOENT),
 *                    denied (EACCES, after switching to user nobody)
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
