/* The name of a bio's file, where a file's list of names is a member. Only one of the two libraries fits. */

#pragma D depends_on library io.d

/* The first of the file's names; only valid for a file. */
inline struct dentry *__bio_dentry[struct bio *b] =
    (struct dentry *)((uintptr_t)__bio_host[b]->i_dentry.first - offsetof(struct dentry, d_alias));
