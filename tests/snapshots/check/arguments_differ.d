/* test: kernel */
fbt::vfs_read:entry, fbt::narrow:entry { trace(args[0]); }
