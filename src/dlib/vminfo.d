/* Places of the vminfo probes on Linux; arg0 is the statistic's increment. A bare string names the nearest one. */

#pragma D depends_on module vmlinux
#pragma D depends_on library bufflags.d
#pragma D depends_on library ioprov.d

provider vminfo {
	probe as_fault(uint64_t n) = "fbt::handle_mm_fault:entry" (1);
	/* VM_FAULT_MAJOR */
	probe maj_fault(uint64_t n) = "fbt::handle_mm_fault:return" if (arg1 & 4) (1);
	probe cow_fault(uint64_t n) = "kinst::wp_page_copy:entry" (1);
	probe zfod(uint64_t n) = "kinst::do_anonymous_page:entry" (1);
	/* All reads and writes of block devices, as pgpgin and pgpgout in /proc/vmstat. */
	probe pgin(uint64_t n) = "io:::start" if (!(args[0]->b_flags & B_WRITE)) (1);
	probe pgpgin(uint64_t n) =
	    "io:::start" if (!(args[0]->b_flags & B_WRITE)) ((args[0]->b_bcount + 4095) / 4096);
	probe pgout(uint64_t n) = "io:::start" if (args[0]->b_flags & B_WRITE) (1);
	probe pgpgout(uint64_t n) = "io:::start" if (args[0]->b_flags & B_WRITE) ((args[0]->b_bcount
	    + 4095) / 4096);
	probe pgrrun(uint64_t n) = "sdt:::mm_vmscan_kswapd_wake" (1);
	/* Pages that kswapd, or a thread waiting for memory, scans and frees. */
	probe scan(uint64_t n) = "sdt:::mm_vmscan_lru_isolate" (arg3);
	probe dfree(uint64_t n) = "sdt:::mm_vmscan_lru_shrink_inactive" if (arg2) (arg2);

	probe anonpgin(uint64_t n) =
	    "pswpin in /proc/vmstat; fbt::swap_read*:entry, by the names of the kernel";
	probe anonpgout(uint64_t n) =
	    "pswpout in /proc/vmstat; fbt::swap_writepage*:entry, by the names of the kernel";
	probe anonfree(uint64_t n) = "sdt:::mm_page_free, for pages of all kinds";
	probe execpgin(uint64_t n) = "vminfo:::pgpgin, for pages of all kinds";
	probe execpgout(uint64_t n) = "vminfo:::pgpgout, for pages of all kinds";
	probe execfree(uint64_t n) = "vminfo:::dfree, for pages of all kinds";
	probe fspgin(uint64_t n) = "vminfo:::pgpgin, for pages of all kinds";
	probe fspgout(uint64_t n) = "vminfo:::pgpgout, for pages of all kinds";
	probe fsfree(uint64_t n) = "vminfo:::dfree, for pages of all kinds";
	probe hat_fault(uint64_t n) = "vminfo:::as_fault";
	probe kernel_asflt(uint64_t n) =
	    "sdt:::page_fault_kernel, for faults of the kernel at addresses of programs";
	probe prot_fault(uint64_t n) =
	    "vminfo:::cow_fault; fbt::bad_area_access_error:entry, for what a program may not do";
	probe pgfrec(uint64_t n) =
	    "vminfo:::as_fault; Linux does not count pages that are found again";
	probe pgrec(uint64_t n) =
	    "vminfo:::as_fault; Linux does not count pages that are found again";
	probe pgswapin(uint64_t n) =
	    "fbt::swap_read*:entry, for pages; Linux does not swap out whole processes";
	probe pgswapout(uint64_t n) =
	    "fbt::swap_writepage*:entry, for pages; Linux does not swap out whole processes";
	probe swapin(uint64_t n) =
	    "fbt::swap_read*:entry, for pages; Linux does not swap out whole processes";
	probe swapout(uint64_t n) =
	    "fbt::swap_writepage*:entry, for pages; Linux does not swap out whole processes";
	probe rev(uint64_t n) = "sdt:::mm_vmscan_kswapd_sleep; Linux has no clock with a hand";
	probe softlock(uint64_t n) = "fbt::mlock_fixup:entry";
};
