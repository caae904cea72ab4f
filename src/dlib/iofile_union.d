/* The file of a bio, where the list of a file's names is in a union (before 7.0); the other library does not fit the kernel and is left out. */

#pragma D depends_on library io.d

inline struct dentry *__bio_dentry[struct bio *b] = __bio_alias[b] == NULL ?
    NULL : (struct dentry *)((uintptr_t)__bio_alias[b] - offsetof(struct dentry, d_u));

translator fileinfo_t < struct bio *B > {
	fi_name = __bio_dentry[B] == NULL ? "<none>" : stringof(__bio_dentry[B]->d_name.name);
	fi_dirname = __bio_dentry[B] == NULL ? "<none>" : __dpath[__bio_dentry[B]->d_parent];
	fi_pathname = __bio_dentry[B] == NULL ? "<none>" : __dpath[__bio_dentry[B]];
	fi_offset = 0;
	fi_fs = __bio_dentry[B] == NULL ? "<none>" : stringof(__bio_dentry[B]->d_sb->s_type->name);
	fi_mount = "<unknown>";
	fi_oflags = 0;
};
