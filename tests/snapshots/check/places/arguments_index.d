/* test: kernel */
fbt::vfs_read:entry { trace(args[4]); }
