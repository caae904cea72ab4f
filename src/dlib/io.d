/* bufinfo_t and devinfo_t over the block layer's types. */

#pragma D depends_on module vmlinux
#pragma D depends_on library bufflags.d
#pragma D depends_on library files.d

typedef struct bufinfo {
	int b_flags;
	uint64_t b_bcount;
	uintptr_t b_addr;
	uint64_t b_blkno;
	uint64_t b_lblkno;
	uint64_t b_resid;
	uint64_t b_bufsize;
	uintptr_t b_iodone;
	int b_error;
	uint32_t b_edev;
} bufinfo_t;

translator bufinfo_t < struct bio *B > {
	b_flags = B->bi_opf & 1 ? B_WRITE : B_READ;
	b_bcount = B->bi_iter.bi_size;
	b_addr = 0;
	b_blkno = B->bi_iter.bi_sector;
	b_lblkno = B->bi_iter.bi_sector;
	b_resid = 0;
	b_bufsize = B->bi_iter.bi_size;
	b_iodone = (uintptr_t)B->bi_end_io;
	b_error = B->bi_status;
	b_edev = __device[B->bi_bdev]->bd_dev;
};

translator bufinfo_t < struct request *R > {
	b_flags = R->cmd_flags & 1 ? B_WRITE : B_READ;
	b_bcount = R->__data_len;
	b_addr = 0;
	b_blkno = R->__sector;
	b_lblkno = R->__sector;
	b_resid = 0;
	b_bufsize = R->__data_len;
	b_iodone = (uintptr_t)R->end_io;
	b_error = 0;
	b_edev = (R->q->disk->major << 20) + R->q->disk->first_minor;
};

translator bufinfo_t < struct buffer_head *B > {
	b_flags = 0;
	b_bcount = B->b_size;
	b_addr = (uintptr_t)B->b_data;
	b_blkno = B->b_blocknr;
	b_lblkno = B->b_blocknr;
	b_resid = 0;
	b_bufsize = B->b_size;
	b_iodone = 0;
	b_error = 0;
	b_edev = B->b_bdev->bd_dev;
};

typedef struct devinfo {
	int dev_major;
	int dev_minor;
	int dev_instance;
	string dev_name;
	string dev_statname;
	string dev_pathname;
} devinfo_t;

/* dev_name is the disk, dev_statname the partition. */
translator devinfo_t < struct block_device *D > {
	dev_major = D->bd_dev >> 20;
	dev_minor = D->bd_dev & 0xfffff;
	dev_instance = 0;
	dev_name = stringof(D->bd_disk->disk_name);
	dev_statname = stringof(D->bd_device.kobj.name);
	dev_pathname = strjoin("/dev/", stringof(D->bd_device.kobj.name));
};

translator devinfo_t < struct bio *B > {
	dev_major = __device[B->bi_bdev]->bd_dev >> 20;
	dev_minor = __device[B->bi_bdev]->bd_dev & 0xfffff;
	dev_instance = 0;
	dev_name = stringof(__device[B->bi_bdev]->bd_disk->disk_name);
	dev_statname = stringof(__device[B->bi_bdev]->bd_device.kobj.name);
	dev_pathname = strjoin("/dev/", stringof(__device[B->bi_bdev]->bd_device.kobj.name));
};

translator devinfo_t < struct buffer_head *B > {
	dev_major = B->b_bdev->bd_dev >> 20;
	dev_minor = B->b_bdev->bd_dev & 0xfffff;
	dev_instance = 0;
	dev_name = stringof(B->b_bdev->bd_disk->disk_name);
	dev_statname = stringof(B->b_bdev->bd_device.kobj.name);
	dev_pathname = strjoin("/dev/", stringof(B->b_bdev->bd_device.kobj.name));
};

translator devinfo_t < struct request *R > {
	dev_major = R->q->disk->major;
	dev_minor = R->q->disk->first_minor;
	dev_instance = 0;
	dev_name = stringof(R->q->disk->disk_name);
	dev_statname = stringof(R->q->disk->disk_name);
	dev_pathname = strjoin("/dev/", stringof(R->q->disk->disk_name));
};

/* The file of a bio is the file of its first page, if that page belongs to a file. */
inline struct inode *__bio_host[struct bio *b] = b->bi_io_vec->bv_page->mapping->host;
inline int __bio_has_file[struct bio *b] =
    (b->bi_opf & 0xff) <= 1 && b->bi_io_vec != NULL && b->bi_io_vec->bv_page != NULL &&
    b->bi_io_vec->bv_page->mapping != NULL && ((uintptr_t)b->bi_io_vec->bv_page->mapping & 3) == 0 &&
    __bio_host[b] != NULL && __bio_host[b]->i_dentry.first != NULL;
