//! All programs of the list.

#[macro_use]
extern crate test_programs;

mod programs;
