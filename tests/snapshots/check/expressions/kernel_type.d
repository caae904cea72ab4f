fbt::vfs_read:entry { trace(((struct file *)arg0)->f_flags); }
