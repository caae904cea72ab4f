// withcaps.c: runs a command as a user with some capabilities and no others: withcaps UID NUMBER,NUMBER COMMAND...
#define _GNU_SOURCE
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};
	uint64_t mask = 0;
	char *cap;
	int i;

	if (argc < 4)
		return 125;
	for (cap = strtok(argv[2], ","); cap; cap = strtok(NULL, ","))
		mask |= 1ull << atoi(cap);
	/* UID 0 does not grant capabilities, and changing the UID does not drop any. */
	if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_KEEP_CAPS) || setgroups(0, NULL) ||
	    setresgid(atoi(argv[1]), atoi(argv[1]), atoi(argv[1])) ||
	    setresuid(atoi(argv[1]), atoi(argv[1]), atoi(argv[1]))) {
		perror("withcaps");
		return 125;
	}
	for (i = 0; i < 2; i++)
		data[i].permitted = data[i].effective = data[i].inheritable = mask >> 32 * i;
	if (syscall(SYS_capset, &header, data)) {
		perror("capset");
		return 125;
	}
	for (i = 0; i < 64; i++)
		if (mask >> i & 1)
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 126;
}
