//! The crash screen, as somebody sees it: pictures of a running machine's screen, read by programs that share nothing with the kernel's.

pub mod drawn;
pub mod machine;
mod pages;
mod trouble;
