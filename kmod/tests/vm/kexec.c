// SPDX-License-Identifier: GPL-2.0
/*
 * kexec.c: switches to another kernel immediately: kexec KERNEL 'COMMAND LINE'; in the guest.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || syscall(SYS_kexec_file_load, fd, -1, strlen(argv[2]) + 1, argv[2], KEXEC_FILE_NO_INITRAMFS)) {
		perror("kexec_file_load");
		return 2;
	}
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	perror("reboot");
	return 1;
}
