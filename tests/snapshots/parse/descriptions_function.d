/* test: -f */
fbt:vmlinux:vfs_read, vmlinux:vfs_write, vfs_* /pid/ { trace(arg0) }
