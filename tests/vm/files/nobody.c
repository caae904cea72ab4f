// nobody.c: runs a command as a user without privileges.
#include <grp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || setgroups(0, NULL) || setgid(65534) || setuid(65534)) {
		perror("nobody");
		return 125;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 126;
}
