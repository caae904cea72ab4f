# tree.sh: other people's programs, in trees of their own.

# tree NAME: makes /NAME of NAME.tar, to change the root to, unless it is there.
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
