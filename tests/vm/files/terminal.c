/* terminal.c: runs a command with its standard output, or with -e standard error, on a terminal, and prints that. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int error = argc > 1 && !strcmp(argv[1], "-e");
	int control = posix_openpt(O_RDWR | O_NOCTTY);
	char bytes[4096];
	int status;
	ssize_t n;
	pid_t child;

	if (argc < 2 + error || control < 0 || grantpt(control) || unlockpt(control)) {
		perror("terminal");
		return 2;
	}
	child = fork();
	if (!child) {
		int terminal = open(ptsname(control), O_RDWR | O_NOCTTY);

		dup2(terminal, error ? 2 : 1);
		close(terminal);
		close(control);
		execvp(argv[1 + error], argv + 1 + error);
		_exit(127);
	}
	/* The kernel ends the stream with an error once no process has the terminal open. */
	while ((n = read(control, bytes, sizeof(bytes))) > 0)
		fwrite(bytes, 1, n, stdout);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
