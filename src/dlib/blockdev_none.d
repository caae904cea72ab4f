/* The device of a request, in a kernel without several paths to one disk; the other library is left out there, and this one elsewhere. */

#pragma D depends_on module vmlinux

inline struct block_device *__device[struct block_device *D] = D;
