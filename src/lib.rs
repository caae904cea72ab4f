//! kinst for Linux.
