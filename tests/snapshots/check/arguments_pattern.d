/* test: kernel */
fbt::vfs_*:entry { trace(args[0]); }
