/* The device of a request, in a kernel without several paths to one disk; the other library is left out there, and this one elsewhere. */

#pragma D depends_on module vmlinux
#pragma D depends_on library io.d

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

translator devinfo_t < struct bio *B > {
	dev_major = B->bi_bdev->bd_dev >> 20;
	dev_minor = B->bi_bdev->bd_dev & 0xfffff;
	dev_instance = 0;
	dev_name = stringof(B->bi_bdev->bd_disk->disk_name);
	dev_statname = stringof(B->bi_bdev->bd_device.kobj.name);
	dev_pathname = strjoin("/dev/", stringof(B->bi_bdev->bd_device.kobj.name));
};
