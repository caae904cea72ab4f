/* test: kernel */
fbt::vfs_read:return { trace(args[0]->f_pos); }
