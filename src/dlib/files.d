/* fileinfo_t and fds[]. */

#pragma D depends_on module vmlinux
#pragma D depends_on library path.d

typedef struct fileinfo {
	string fi_name;
	string fi_dirname;
	string fi_pathname;
	long long fi_offset;
	string fi_fs;
	string fi_mount;
	int fi_oflags;
} fileinfo_t;

translator fileinfo_t < struct file *F > {
	fi_name = F == NULL ? "<none>" : basename(__fpath[F]);
	fi_dirname = F == NULL ? "<none>" : dirname(__fpath[F]);
	fi_pathname = F == NULL ? "<none>" : __fpath[F];
	fi_offset = F == NULL ? 0 : F->f_pos;
	fi_fs = F == NULL ? "<none>" : stringof(F->f_inode->i_sb->s_type->name);
	fi_mount = F == NULL ? "<none>" : __mpath[__mount[F->f_path.mnt]];
	fi_oflags = F == NULL ? 0 : F->f_flags;
};

translator fileinfo_t < struct path *P > {
	fi_name = P == NULL ? "<none>" : basename(d_path(P));
	fi_dirname = P == NULL ? "<none>" : dirname(d_path(P));
	fi_pathname = P == NULL ? "<none>" : d_path(P);
	fi_offset = 0;
	fi_fs = P == NULL ? "<none>" : stringof(P->dentry->d_sb->s_type->name);
	fi_mount = P == NULL ? "<none>" : __mpath[__mount[P->mnt]];
	fi_oflags = 0;
};

/* Without a mount: the path within the file system. */
translator fileinfo_t < struct dentry *D > {
	fi_name = D == NULL ? "<none>" : stringof(D->d_name.name);
	fi_dirname = D == NULL ? "<none>" : __dpath[D->d_parent];
	fi_pathname = D == NULL ? "<none>" : __dpath[D];
	fi_offset = 0;
	fi_fs = D == NULL ? "<none>" : stringof(D->d_sb->s_type->name);
	fi_mount = "<unknown>";
	fi_oflags = 0;
};

#pragma D attributes Stable/Stable/Common fds
inline fileinfo_t fds[int fd] = xlate <fileinfo_t> (
    fd >= 0 && curthread->files != NULL && fd < curthread->files->fdt->max_fds ?
    curthread->files->fdt->fd[fd] : NULL);
