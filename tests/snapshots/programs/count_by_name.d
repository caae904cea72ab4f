/* test: -n */
kinst::vfs_read:entry { @[execname] = count(); }
