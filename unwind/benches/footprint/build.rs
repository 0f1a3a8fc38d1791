//! Relocations stay in the image: they are the calls, which `../footprint.rs` follows.
fn main() {
    println!("cargo:rustc-link-arg-bins=--entry=entry");
    println!("cargo:rustc-link-arg-bins=--emit-relocs");
}
