/* The mount point of a file system: its first mount, if complete and at most two mounts below the top. */

#pragma D depends_on library path.d

inline struct mount *__sb_mount[struct super_block *s] =
    (struct mount *)((uintptr_t)s->s_mounts.next - offsetof(struct mount, mnt_instance));
inline int __is_whole[struct super_block *s] =
    s->s_mounts.next != &s->s_mounts && __sb_mount[s]->mnt.mnt_root == s->s_root;
inline int __is_top[struct mount *m] = m->mnt_parent == m;
inline int __is_over[struct mount *m] = m->mnt_mountpoint->d_parent == m->mnt_mountpoint;
inline string __mounted_on[struct mount *m] = __is_over[m] ? "" : __dpath[m->mnt_mountpoint];
inline string __mounted[struct mount *m] =
    __is_top[m] || __is_top[m->mnt_parent] && __is_over[m] ? "/" :
    __is_top[m->mnt_parent] ? __mounted_on[m] :
    __is_top[m->mnt_parent->mnt_parent] ? strjoin(__mounted_on[m->mnt_parent], __mounted_on[m]) : "<unknown>";
inline string __sb_mounted[struct super_block *s] = __is_whole[s] ? __mounted[__sb_mount[s]] : "<unknown>";
/* Whether its paths are paths of the whole system. */
inline int __is_root_fs[struct super_block *s] =
    __is_whole[s] && (__is_top[__sb_mount[s]] || __is_top[__sb_mount[s]->mnt_parent] && __is_over[__sb_mount[s]]);
