//! The tests of this package link kernels by the linker that `cargo test` has compiled. Else cargo would compile it once more, with fewer
//! features: four minutes of a processor's time.

#[gate]
fn kernels_are_linked_by_the_linker_of_the_tests() {
    assert!(qemu::build::linker::is_in_a_test());
}
