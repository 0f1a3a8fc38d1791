//! A test for each kernel, so that the first failure does not hide the rest.

/// Makes a function that takes a [`Kernel`](qemu::build::Kernel) a test for each kernel of a group, with the kernel in the test's name:
/// `null_read::aarch64_release`.
///
/// The table at the end of this macro lists the kernels of each group: in the first brackets those of the gate (`cargo test`), in the
/// second ones those of the long part (`.ci/long`).
///
/// * `every`: x86-64 and AArch64, debug and release
/// * `debug`, `release`, `x86_64`, `aarch64`: those of `every`
/// * `release_of_all`, `every_of_all`: the same with 32-bit ARM, for functions that take any [`Processor`](qemu::machine::Processor)
/// * `much_and_little_inlined`: one of much inlining and one of little, and one of each architecture
/// * `one_each`, `one_x86_64`, `one_aarch64`, `one_release`, `one_release_of_all`: as `every`, `x86_64`, `aarch64`, `release` and
///   `release_of_all`, with one kernel of each architecture, or of all, in the gate: each test steps or samples a machine for seconds
/// * `every_in_long`: `every`, in the long part only, because each test waits for a machine that hangs
/// * `plain`: kernels whose compilers wrote no unwind tables
/// * `x86_64_and_plain`: `x86_64`, and those of `plain` for x86-64
/// * `every_and_plain`: `every`, and those of `plain` for x86-64. Reports of both have the same functions, but no lines. On AArch64 such
///   a compiler saves the link register nowhere in functions that never return, so that their callers are unknown.
/// * `every_and_both_plain`: `every` and `plain`, for reports that `trace` compares: it expects a panic's report to stop there
macro_rules! kernel_tests {
    ($group:ident: $($test:ident),+ $(,)?) => {
        $(kernel_tests!(@ $group $test);)+
    };
    (@ every $test:ident) => { kernel_tests!(
        $test [x86_64_debug x86_64_release aarch64_debug aarch64_release] []
    ); };
    (@ debug $test:ident) => { kernel_tests!($test [x86_64_debug aarch64_debug] []); };
    (@ release $test:ident) => { kernel_tests!($test [x86_64_release aarch64_release] []); };
    (@ x86_64 $test:ident) => { kernel_tests!($test [x86_64_debug x86_64_release] []); };
    (@ aarch64 $test:ident) => { kernel_tests!($test [aarch64_debug aarch64_release] []); };
    (@ release_of_all $test:ident) => { kernel_tests!(
        $test [x86_64_release aarch64_release armv7a_release] []
    ); };
    (@ every_of_all $test:ident) => { kernel_tests!(
        $test
        [x86_64_debug x86_64_release aarch64_debug aarch64_release armv7a_debug armv7a_release] []
    ); };
    (@ much_and_little_inlined $test:ident) => { kernel_tests!(
        $test [x86_64_release aarch64_debug] []
    ); };
    (@ one_each $test:ident) => { kernel_tests!(
        $test [x86_64_release aarch64_debug] [x86_64_debug aarch64_release]
    ); };
    (@ one_x86_64 $test:ident) => { kernel_tests!($test [x86_64_release] [x86_64_debug]); };
    (@ one_aarch64 $test:ident) => { kernel_tests!($test [aarch64_debug] [aarch64_release]); };
    (@ one_release $test:ident) => { kernel_tests!($test [x86_64_release] [aarch64_release]); };
    (@ one_release_of_all $test:ident) => { kernel_tests!(
        $test [x86_64_release] [aarch64_release armv7a_release]
    ); };
    (@ every_in_long $test:ident) => { kernel_tests!(
        $test [] [x86_64_debug x86_64_release aarch64_debug aarch64_release]
    ); };
    (@ plain $test:ident) => { kernel_tests!($test [x86_64_plain] [aarch64_plain]); };
    (@ x86_64_and_plain $test:ident) => { kernel_tests!(
        $test [x86_64_debug x86_64_release x86_64_plain] []
    ); };
    (@ every_and_plain $test:ident) => { kernel_tests!(
        $test [x86_64_debug x86_64_release aarch64_debug aarch64_release x86_64_plain] []
    ); };
    (@ every_and_both_plain $test:ident) => { kernel_tests!(
        $test
        [x86_64_debug x86_64_release aarch64_debug aarch64_release x86_64_plain] [aarch64_plain]
    ); };
    ($test:ident [$($gate:ident)*] [$($long:ident)*]) => {
        mod $test {
            $(
                #[gate]
                fn $gate() {
                    super::$test($crate::support::built::kernel_of(stringify!($gate)));
                }
            )*
            $(
                #[long]
                fn $long() {
                    super::$test($crate::support::built::kernel_of(stringify!($long)));
                }
            )*
        }
    };
}
pub(crate) use kernel_tests;
