BEGIN {
	trace(1); // hello
}
