/* bufinfo_t and devinfo_t over the block layer's requests, and the arguments of io's probes. */

#pragma D depends_on module vmlinux
#pragma D depends_on library files.d

inline int B_BUSY = 0x01;
inline int B_DONE = 0x02;
inline int B_ERROR = 0x04;
inline int B_PAGEIO = 0x10;
inline int B_PHYS = 0x20;
inline int B_READ = 0x40;
inline int B_WRITE = 0x100;
inline int B_ASYNC = 0x400;

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
	b_edev = B->bi_bdev->bd_dev;
};

typedef struct devinfo {
	int dev_major;
	int dev_minor;
	int dev_instance;
	string dev_name;
	string dev_statname;
	string dev_pathname;
} devinfo_t;

translator devinfo_t < struct bio *B > {
	dev_major = B->bi_bdev->bd_dev >> 20;
	dev_minor = B->bi_bdev->bd_dev & 0xfffff;
	dev_instance = 0;
	dev_name = stringof(B->bi_bdev->bd_disk->disk_name);
	dev_statname = stringof(B->bi_bdev->bd_disk->disk_name);
	dev_pathname = strjoin("/dev/", stringof(B->bi_bdev->bd_disk->disk_name));
};

/* A request does not know its file. */
translator fileinfo_t < struct bio *B > {
	fi_name = "<unknown>";
	fi_dirname = "<unknown>";
	fi_pathname = "<unknown>";
	fi_offset = 0;
	fi_fs = "<unknown>";
	fi_mount = "<unknown>";
	fi_oflags = 0;
};

provider io {
	probe start(struct bio *b) : (bufinfo_t *b, devinfo_t *b, fileinfo_t *b);
	probe done(struct bio *b) : (bufinfo_t *b, devinfo_t *b, fileinfo_t *b);
	probe wait__start(struct bio *b) : (bufinfo_t *b, devinfo_t *b, fileinfo_t *b);
	probe wait__done(struct bio *b) : (bufinfo_t *b, devinfo_t *b, fileinfo_t *b);
};
