/* test: kernel */
fbt::vfs_read:entry { x = 1; trace(args[x]); }
