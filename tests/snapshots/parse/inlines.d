inline int two = 2;
inline string path[int fd, string dflt] = fd == 0 ? dflt : "other";
inline struct file *f = (struct file *)arg0;
inline unsigned long mask[int] = 1 << 4;
BEGIN { trace(two); }
