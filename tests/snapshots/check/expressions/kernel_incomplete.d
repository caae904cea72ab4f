/* test: kernel */
fbt::vfs_read:entry { trace(args[0]->f_path.mnt->mnt_root); }
