/* test: amin: Evolving/Evolving/Common */
BEGIN, fbt::vfs_read:entry { trace(timestamp); }
