//! A kernel in C, which links the library of `kernel/c` by the steps of the guide: by gcc and GNU ld, and by clang and lld.

mod build;
mod code;
mod compiled;
mod cpus;
mod folded;
mod given;
mod handlers;
mod higher;
mod mapped;
mod reports;
mod size;
mod smaller;
mod unmapped;
mod user;

use build::{CLANG, CROSS_CLANG, CROSS_GCC, GCC};
use compiled::{
    call_frame_information_for_debuggers_only_is_enough, unoptimized_code_is_traced,
    without_call_frame_information_the_code_is_enough,
};
use cpus::a_report_has_the_callers_of_another_cpu;
use folded::folded_functions_have_both_names;
use given::{
    a_failure_of_the_console_is_one_line, functions_of_the_kernel_take_the_place_of_the_librarys,
    what_the_header_allows_to_be_null_may_be,
};
use handlers::{
    a_panic_in_a_handler_is_reported_across_it, a_report_may_begin_at_what_was_interrupted,
    an_exception_in_a_handler_is_reported_across_it,
};
use higher::{
    a_kernel_in_the_upper_half_is_reported, declared_stacks_in_the_upper_half_are_reported,
};
use mapped::{
    segments_that_a_kernel_maps_have_the_tables, symbols_between_sections_are_around_the_tables,
    symbols_in_sections_are_around_the_tables,
};
use reports::{
    a_breakpoint_and_a_panic_are_reported, a_read_of_nothing_is_reported,
    declared_stacks_are_reported, without_the_library_it_says_nothing_of_callers,
};
use size::code_and_stack_are_as_large_as_is_said;
use smaller::the_host_names_the_smallest_report;
use unmapped::a_report_names_tables_that_are_not_mapped;
use user::{
    a_fault_of_a_user_program_is_the_programs, a_panic_in_a_call_of_a_user_program_ends_there,
};

/// A test for each compiler.
macro_rules! each {
    ($($test:ident),+ $(,)?) => {
        $(
            mod $test {
                #[test]
                fn gcc() { super::$test(super::GCC); }
                #[test]
                fn cross_gcc() { super::$test(super::CROSS_GCC); }
                #[test]
                fn clang() { super::$test(super::CLANG); }
                #[test]
                fn cross_clang() { super::$test(super::CROSS_CLANG); }
            }
        )+
    };
}

each! {
    without_the_library_it_says_nothing_of_callers,
    a_breakpoint_and_a_panic_are_reported,
    a_read_of_nothing_is_reported,
    declared_stacks_are_reported,
    call_frame_information_for_debuggers_only_is_enough,
    without_call_frame_information_the_code_is_enough,
    unoptimized_code_is_traced,
    functions_of_the_kernel_take_the_place_of_the_librarys,
    a_failure_of_the_console_is_one_line,
    what_the_header_allows_to_be_null_may_be,
    code_and_stack_are_as_large_as_is_said,
    a_panic_in_a_handler_is_reported_across_it,
    an_exception_in_a_handler_is_reported_across_it,
    a_report_may_begin_at_what_was_interrupted,
    the_host_names_the_smallest_report,
    a_fault_of_a_user_program_is_the_programs,
    a_panic_in_a_call_of_a_user_program_ends_there,
    a_report_has_the_callers_of_another_cpu,
    segments_that_a_kernel_maps_have_the_tables,
    symbols_between_sections_are_around_the_tables,
    symbols_in_sections_are_around_the_tables,
}

/// The same on x86-64.
macro_rules! each_on_x86_64 {
    ($($test:ident),+ $(,)?) => {
        $(
            mod $test {
                #[test]
                fn gcc() { super::$test(super::GCC); }
                #[test]
                fn clang() { super::$test(super::CLANG); }
            }
        )+
    };
}

each_on_x86_64! {
    a_kernel_in_the_upper_half_is_reported,
    declared_stacks_in_the_upper_half_are_reported,
    a_report_names_tables_that_are_not_mapped,
}

/// The same by lld.
macro_rules! each_by_lld {
    ($($test:ident),+ $(,)?) => {
        $(
            mod $test {
                #[test]
                fn clang() { super::$test(super::CLANG); }
                #[test]
                fn cross_clang() { super::$test(super::CROSS_CLANG); }
            }
        )+
    };
}

each_by_lld! {
    folded_functions_have_both_names,
}
