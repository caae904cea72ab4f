/* Where a file system is mounted, in a kernel whose list of mounts is another one; the other library is left out there, and this one elsewhere. */

#pragma D depends_on module vmlinux

inline string __sb_mounted[struct super_block *s] = "<unknown>";
inline int __is_root_fs[struct super_block *s] = 0;
