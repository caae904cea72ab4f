/* Functions of C++ and Rust are in quotes where they have colons and other signs. */
pid1234:a.out:"app::Rect::scale":entry,
pid1234:a.out:"sum<int, std::allocator<char> >":return,
pid1234::"main::{closure#0}":L12,
uprobe:/usr/bin/jq:"Vec<*>::push":src/vec.rs@12,
"operator()":3f
/arg1 > 0/
{
	trace(probefunc);
}
