/* The mount point of a file system, for kernels with another list of mounts. Only one of the two libraries fits. */

#pragma D depends_on module vmlinux

inline string __sb_mounted[struct super_block *s] = "<unknown>";
inline int __is_root_fs[struct super_block *s] = 0;
