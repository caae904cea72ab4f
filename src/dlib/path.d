/* Names of files. A path is that inside of its file system, of five parts at most. */

#pragma D depends_on module vmlinux

inline string __dname[struct dentry *d] = d->d_parent == d ? "" : strjoin("/", stringof(d->d_name.name));
inline string __dpath2[struct dentry *d] = strjoin(__dname[d->d_parent], __dname[d]);
inline string __dpath4[struct dentry *d] = strjoin(__dpath2[d->d_parent->d_parent], __dpath2[d]);
inline string __dpath[struct dentry *d] =
    d->d_parent == d ? "/" : strjoin(__dname[d->d_parent->d_parent->d_parent->d_parent], __dpath4[d]);

inline string cwd = __dpath[curthread->fs->pwd.dentry];
inline string root = __dpath[curthread->fs->root.dentry];
