/* test: kernel */
fbt::vfs_read:entry { trace(args[2]->f_pos); }
