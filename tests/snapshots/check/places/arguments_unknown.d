/* test: kernel */
fbt::vfs_write:entry { trace(args[0]); }
