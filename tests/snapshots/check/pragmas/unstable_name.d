/* test: amin: Evolving/Evolving/Common */
#pragma D attributes Unstable/Stable/Common foo
inline int foo = 3;
BEGIN { trace(foo + 1); }
