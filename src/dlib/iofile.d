/* The file of a bio. */

#pragma D depends_on library io.d

/* A path that does not start at the root begins with "...": it is relative to fi_mount, or too deep. */
inline string __bio_cut[struct bio *b, struct dentry *d] =
    __is_root_fs[__bio_host[b]->i_sb] && !__is_deep[d] ? "" : "...";

translator fileinfo_t < struct bio *B > {
	fi_name = __bio_has_file[B] ? stringof(__bio_dentry[B]->d_name.name) : "<none>";
	fi_dirname = __bio_has_file[B] ?
	    strjoin(__bio_cut[B, __bio_dentry[B]->d_parent], __dtail[__bio_dentry[B]->d_parent]) : "<none>";
	fi_pathname = __bio_has_file[B] ?
	    strjoin(__bio_cut[B, __bio_dentry[B]], __dtail[__bio_dentry[B]]) : "<none>";
	fi_offset = 0;
	fi_fs = __bio_has_file[B] ? stringof(__bio_host[B]->i_sb->s_type->name) : "<none>";
	fi_mount = __bio_has_file[B] ? __sb_mounted[__bio_host[B]->i_sb] : "<none>";
	fi_oflags = 0;
};
