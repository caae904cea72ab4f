// SPDX-License-Identifier: GPL-2.0
/* without.c: `without CAPABILITY COMMAND...` runs the command without the capability with this number. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3 || prctl(PR_CAPBSET_DROP, atoi(argv[1]), 0, 0, 0))
		return 2;
	execvp(argv[2], argv + 2);
	return 127;
}
