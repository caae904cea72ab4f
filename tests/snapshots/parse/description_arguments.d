/* test: args: vfs_read 7 */
fbt::$1:entry, kinst::x$$1y:$2
{ trace($1); }
