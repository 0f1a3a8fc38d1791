//! The crash screen, as somebody sees it: pictures of a running machine's screen, read by programs that share nothing with the kernel's.

#[path = "../support/mod.rs"]
mod support;

mod drawn;
mod machine;
mod pages;
mod trouble;
