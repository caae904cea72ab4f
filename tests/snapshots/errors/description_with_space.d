syscall::read: entry { }
