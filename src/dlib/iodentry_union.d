/* The name of a bio's file, where the list of a file's names is in a union (before 7.0); the other library does not fit the kernel and is left out. */

#pragma D depends_on library io.d

/* The first of the file's names; only where there is a file. */
inline struct dentry *__bio_dentry[struct bio *b] =
    (struct dentry *)((uintptr_t)__bio_host[b]->i_dentry.first - offsetof(struct dentry, d_u));
