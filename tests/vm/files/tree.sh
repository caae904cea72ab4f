# tree.sh: third-party programs, in separate root file systems.

# tree NAME: unpacks NAME.tar to /NAME, for chroot, unless it exists.
tree() {
	[ ! -d /$1 ] || return 0
	mkdir /$1
	tar xf $1.tar -C /$1 && rm $1.tar
	mkdir -p /$1/tmp
	for folder in proc sys dev; do
		mkdir -p /$1/$folder
		mount --rbind /$folder /$1/$folder
	done
}
