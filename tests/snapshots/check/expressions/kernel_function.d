/* test: kernel */
BEGIN { trace(*`vfs_read); }
