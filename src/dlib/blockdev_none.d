/* The device of a request, for kernels without multipath disks. Only one of the two libraries fits a kernel. */

#pragma D depends_on module vmlinux

inline struct block_device *__device[struct block_device *D] = D;
