/* Names of files. */

#pragma D depends_on module vmlinux

/* The path within its file system, without the mount. Beyond six components, the first ones become "...". */
inline string __dname[struct dentry *d] = d->d_parent == d ? "" : strjoin("/", stringof(d->d_name.name));
inline string __dpath2[struct dentry *d] = strjoin(__dname[d->d_parent], __dname[d]);
inline string __dpath4[struct dentry *d] = strjoin(__dpath2[d->d_parent->d_parent], __dpath2[d]);
inline struct dentry *__d4[struct dentry *d] = d->d_parent->d_parent->d_parent->d_parent;
inline string __dtail[struct dentry *d] = d->d_parent == d ? "/" : strjoin(__dpath2[__d4[d]], __dpath4[d]);
inline int __is_deep[struct dentry *d] = __d4[d]->d_parent->d_parent != __d4[d]->d_parent->d_parent->d_parent;
inline string __dpath[struct dentry *d] = strjoin(__is_deep[d] ? "..." : "", __dtail[d]);

/* The mount's position in its parent mount. */
inline struct mount *__mount[struct vfsmount *m] = (struct mount *)((uintptr_t)m - offsetof(struct mount, mnt));
inline string __mpath[struct mount *m] = m->mnt_parent == m ? "/" : __dpath[m->mnt_mountpoint];

/* Pipes, sockets and other files without a path have names as in /proc/PID/fd. */
inline string __numbered[string kind, uint64_t number] =
    strjoin(strjoin(kind, ":["), strjoin(lltostr(number), "]"));
inline string __fpath[struct file *f] =
    f->f_inode->i_sb->s_magic == 0x50495045 ? __numbered["pipe", f->f_inode->i_ino] :
    f->f_inode->i_sb->s_magic == 0x534f434b ? __numbered["socket", f->f_inode->i_ino] :
    f->f_inode->i_sb->s_magic == 0x09041934 ? strjoin("anon_inode:", stringof(f->f_path.dentry->d_name.name)) :
    d_path(&f->f_path);

#pragma D attributes Stable/Stable/Common cwd
inline string cwd = d_path(&curthread->fs->pwd);
#pragma D attributes Stable/Stable/Common root
inline string root = d_path(&curthread->fs->root);
