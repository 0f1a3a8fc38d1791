//! A test for each kernel, so that the first failure does not hide the rest.

/// Makes a function that takes a [`Kernel`](qemu::build::Kernel) a test for each of these kernels, with the kernel in its
/// name: `null_read::aarch64_release`.
///
/// Of those that `cargo run` builds, both architectures, debug and release, `cargo test` has two, one of each kind and of each
/// architecture: that for x86_64 with optimization, where much is inlined, and that for AArch64 without. The other two are in
/// `.ci/long`, because four take too long.
///
/// * `every`: all four
/// * `debug`, `release`, `x86_64`, `aarch64`: those of them
/// * `release_of_all`, `every_of_all`: the same with 32-bit ARM, for functions that take any [`Processor`](qemu::machine::Processor);
///   `release_and_arm`: with its test in `cargo test`
/// * `debug_in_long`, `every_in_long`: the same, all of them in `.ci/long`
/// * `much_and_little_inlined`: the two of `cargo test` only
/// * `plain`: those whose compilers said nothing of unwinding, only in `.ci/long`
/// * `x86_64_and_plain`: `x86_64`, and that of `plain`
/// * `every_and_plain`: `every`, and of `plain` that for x86_64. Reports have the same functions, but
///   no lines. On AArch64 such a compiler keeps the link register nowhere in functions that never return, so that nobody can
///   know who called them.
/// * `every_and_both_plain`: both, for reports that `trace` looks at: it knows that those of a panic stop there
macro_rules! kernel_tests {
    (every: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(
            @ $test [x86_64_release aarch64_debug] [x86_64_debug aarch64_release]
        );)+
    };
    (debug: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [aarch64_debug] [x86_64_debug]);)+
    };
    (release: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_release] [aarch64_release]);)+
    };
    (release_of_all: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_release] [aarch64_release armv7a_release]);)+
    };
    (release_and_arm: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_release armv7a_release] [aarch64_release]);)+
    };
    (every_of_all: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(
            @ $test [x86_64_release aarch64_debug armv7a_release]
                [x86_64_debug aarch64_release armv7a_debug]
        );)+
    };
    (x86_64: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_release] [x86_64_debug]);)+
    };
    (aarch64: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [aarch64_debug] [aarch64_release]);)+
    };
    (debug_in_long: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [] [x86_64_debug aarch64_debug]);)+
    };
    (every_in_long: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [] [x86_64_debug x86_64_release aarch64_debug aarch64_release]);)+
    };
    (much_and_little_inlined: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_release aarch64_debug] []);)+
    };
    (plain: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [] [x86_64_plain aarch64_plain]);)+
    };
    (x86_64_and_plain: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_release] [x86_64_debug x86_64_plain]);)+
    };
    (every_and_plain: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(
            @ $test [x86_64_release aarch64_debug] [x86_64_debug aarch64_release x86_64_plain]
        );)+
    };
    (every_and_both_plain: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(
            @ $test [x86_64_release aarch64_debug]
                [x86_64_debug aarch64_release x86_64_plain aarch64_plain]
        );)+
    };
    (@ $test:ident [$($kernel:ident)*] [$($long:ident)*]) => {
        mod $test {
            $(
                #[test]
                fn $kernel() {
                    super::$test($crate::support::built::kernel_of(stringify!($kernel)));
                }
            )*
            $(
                #[test]
                #[ignore = "takes long: .ci/long"]
                fn $long() {
                    super::$test($crate::support::built::kernel_of(stringify!($long)));
                }
            )*
        }
    };
}
pub(crate) use kernel_tests;
