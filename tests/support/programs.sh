#!/bin/sh
# programs.sh: builds programs of Debian's sources, with debug information. programs.sh FOLDER [PACKAGE]... fills
# FOLDER/src with the sources and FOLDER/bin with the programs; what is there already is not built again.
set -eu

folder=$1
shift
all="bc bzip2 diffutils ed gawk git grep gzip jq less lz4 lzip m4 mawk patch sed sqlite3 tcc units zstd"
flags="-O2 -g -fno-pie -w"
mkdir -p "$folder/src" "$folder/bin" "$folder/apt/lists/partial"
cd "$folder"

# The sources have their own list: the machine's lists often lack them.
apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
	sed -n 's/^/deb-src /; /\/debian\/ [a-z]* main$/p' > apt/sources.list
apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State::lists="$folder/apt/lists" -o APT::Sandbox::User=root "$@"
}

# The folder of a package's sources.
fetched() {
	mkdir -p "$folder/src/$1"
	cd "$folder/src/$1"
	if [ ! -e .complete ]; then
		[ -e "$folder/apt/updated" ] || { apt update && touch "$folder/apt/updated"; }
		apt source --download-only "$1"
		for description in *.dsc; do
			dpkg-source --no-check -x "$description" unpacked
		done
		# The files made by autoconf and others are up to date.
		find unpacked -exec touch -d 2020-01-01 {} +
		touch .complete
	fi
	cd unpacked
}

configured() {
	[ -e Makefile ] || ./configure --disable-nls --disable-dependency-tracking CFLAGS="$flags" LDFLAGS=-no-pie
	make -j2 MAKEINFO=true "$@"
}

# Compiles all C files of a folder, but for the named ones.
compiled() {
	program=$1
	shift
	cc $flags -no-pie -o "$program" "$@" -lm
}

build() {
	case $1 in
	bc) configured -k || true; cp bc/bc dc/dc "$folder/bin" ;;
	bzip2) compiled "$folder/bin/bzip2" bzip2.c blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c ;;

	diffutils) configured; cp src/diff "$folder/bin" ;;
	ed) ./configure CFLAGS="$flags" LDFLAGS=-no-pie; make ed; cp ed "$folder/bin" ;;
	gawk) configured SUBDIRS='support .'; cp gawk "$folder/bin" ;;
	git) make -j2 git NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_OPENSSL=1 NO_PERL=1 NO_PYTHON=1 NO_TCLTK=1 CFLAGS="$flags" LDFLAGS=-no-pie
		cp git "$folder/bin" ;;
	grep) configured; cp src/grep "$folder/bin" ;;
	gzip) configured; cp gzip "$folder/bin" ;;
	jq)
		sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' src/builtin.jq > src/builtin.inc
		echo '#define JQ_VERSION "1.6"' > src/version.h
		rm -f src/jq_test.c src/inject_errors.c
		echo 'int jq_testsuite(void *l, int v, int c, char **a) { return 2; }' > src/no_tests.c
		compiled "$folder/bin/jq" -D_GNU_SOURCE -DIEEE_8087 -DHAVE_MEMMEM -DHAVE_MKSTEMP -I. -Isrc src/*.c ;;
	less) configured lesskey; cp lesskey "$folder/bin" ;;
	lz4) compiled "$folder/bin/lz4" -Ilib programs/*.c lib/*.c ;;
	lzip) c++ $flags -no-pie -DPROGVERSION='"1"' -o "$folder/bin/lzip" *.cc ;;
	m4) configured; cp src/m4 "$folder/bin" ;;
	mawk) configured mawk; cp mawk "$folder/bin" ;;
	patch) configured; cp src/patch "$folder/bin" ;;
	sed) configured; cp sed/sed "$folder/bin" ;;
	sqlite3)
		./configure --disable-readline --disable-tcl
		make sqlite3.c shell.c
		compiled "$folder/bin/sqlite3" -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION sqlite3.c shell.c ;;
	tcc) ./configure; compiled "$folder/bin/tcc" -DONE_SOURCE=1 -DTCC_TARGET_X86_64 tcc.c -ldl -lpthread ;;
	units) configured units; cp units "$folder/bin" ;;
	zstd) make -C programs zstd-small CFLAGS="$flags" LDFLAGS=-no-pie; cp programs/zstd-small "$folder/bin/zstd" ;;
	esac
}

for package in ${*:-$all}; do
	[ ! -e "$folder/bin/.$package" ] || continue
	# A condition would continue after an error.
	set +e
	(set -e; fetched "$package"; build "$package") > "$folder/$package.log" 2>&1
	[ $? -eq 0 ] && touch "$folder/bin/.$package" || echo "programs.sh: not built: $folder/$package.log" >&2
	set -e
done
