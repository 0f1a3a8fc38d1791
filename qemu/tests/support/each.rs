//! A test for each kernel, so that the first failure does not hide the rest.

/// Makes a function that takes a [`Kernel`](qemu::build::Kernel) a test for each of these kernels, with the kernel in its
/// name: `null_read::aarch64_release`.
///
/// * `every`: all that `cargo run` builds, both architectures, debug and release: one of each kind and of each architecture, and the
///   other two in `.ci/long`, because four take too long
/// * `all_four`: the same, none of them in `.ci/long`
/// * `debug`, `release`, `x86_64`, `aarch64`: those of them
/// * `release_or_long`: `every`, but the debug ones only in `.ci/long`
/// * `debug_in_long`: `debug`, only in `.ci/long`
/// * `every_in_long`: `every`, only in `.ci/long`
/// * `much_and_little_inlined`: one of each kind and of each architecture, where four would take too long
/// * `plain`: those whose compilers said nothing of unwinding, only in `.ci/long`
/// * `x86_64_and_plain`: the debug one for x86_64; in `.ci/long` the release one and that of `plain`
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
    (all_four: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_debug x86_64_release aarch64_debug aarch64_release] []);)+
    };
    (debug: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_debug aarch64_debug] []);)+
    };
    (release: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_release aarch64_release] []);)+
    };
    (x86_64: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_debug x86_64_release] []);)+
    };
    (aarch64: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [aarch64_debug aarch64_release] []);)+
    };
    (release_or_long: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $test [x86_64_release aarch64_release] [x86_64_debug aarch64_debug]);)+
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
        $(kernel_tests!(@ $test [x86_64_debug] [x86_64_release x86_64_plain]);)+
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
                    super::$test($crate::support::built::kernel(stringify!($kernel)));
                }
            )*
            $(
                #[test]
                #[ignore = "takes long: .ci/long"]
                fn $long() {
                    super::$test($crate::support::built::kernel(stringify!($long)));
                }
            )*
        }
    };
}
pub(crate) use kernel_tests;
