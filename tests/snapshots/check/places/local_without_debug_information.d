/* test: kernel */
fbt::vfs_read:entry { trace(locals->file); }
