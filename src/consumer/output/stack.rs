//! consumer/output/stack.rs: stacks as text, one frame a line.

use super::text::Text;
use crate::consumer::frame::{Frame, Naming, kernel_stack, user_stack};

/// Prints a line break, then the frames of a kernel stack.
pub(crate) fn kernel(out: &mut Text, record: &[u8], naming: Naming<'_>) {
    lines(out, &kernel_stack(record, naming), naming.indent);
}

/// Prints a line break, then the frames of a user stack.
pub(crate) fn user(out: &mut Text, record: &[u8], naming: Naming<'_>) {
    lines(out, &user_stack(record, naming), naming.indent);
}

fn lines(out: &mut Text, frames: &[Frame], indent: usize) {
    out.str("\n");
    for frame in frames {
        out.pad(indent);
        out.put(format_args!("{frame}"));
        if let Some(place) = &frame.place {
            out.put(format_args!(" {}:{}", place.file, place.line));
        }
        out.str("\n");
    }
}
