//! The linker keeps what can be reached from the entry, so the entry is what calls everything.
fn main() {
    println!("cargo:rustc-link-arg-bins=--entry=everything");
}
