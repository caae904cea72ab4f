/* test: -P */
fbt:vmlinux
