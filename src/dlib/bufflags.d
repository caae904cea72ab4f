/* Flags of b_flags. */

inline int B_BUSY = 0x01;
inline int B_DONE = 0x02;
inline int B_ERROR = 0x04;
inline int B_PAGEIO = 0x10;
inline int B_PHYS = 0x20;
inline int B_READ = 0x40;
inline int B_WRITE = 0x100;
inline int B_ASYNC = 0x400;
