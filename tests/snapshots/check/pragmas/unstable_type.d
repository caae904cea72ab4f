/* test: amin: Evolving/Evolving/Common */
struct own { int a; };
BEGIN { trace(((struct own *)arg0)->a); trace(curthread); }
