//! What the system tests share.
//!
//! Each test program uses a part of it.
#![allow(dead_code, reason = "every test program compiles this and uses a part")]

pub mod built;
pub mod corrupt;
pub mod expected;
pub mod report;
pub mod runner;
pub mod tiny;
pub mod trace;
