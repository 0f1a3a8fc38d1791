//! The assembly of `postmortem`'s macros beside that of the kernel that uses them.

use qemu::machine::Arch;

use super::kernel::{builds, replace};

/// One instruction more would move the next vector.
#[gate]
fn instructions_that_do_not_fit_in_a_vector_do_not_assemble() {
    let build = |count: usize| {
        let room = "nop;".repeat(count);
        let entries = format!(
            "postmortem::exception_entries!(enter, overflow_stack: \"mrs x0, tpidr_el1\", room: \"{room}\");
            extern \"C\" fn enter(_: &mut postmortem::TrapFrame) {{}}"
        );
        builds(Arch::Aarch64, |folder| {
            let texts = [
                (
                    "postmortem::exceptions!(EXCEPTIONS, POSTMORTEM);",
                    &*entries,
                ),
                (
                    "EXCEPTIONS.stack(index)",
                    "Some(STACK).filter(|_| index > 0)",
                ),
                // SAFETY: the test removes this call, because there are no tables to load without `exceptions!`.
                ("unsafe { EXCEPTIONS.load(0) }", ""),
            ];
            replace(folder, "src/death.rs", &texts);
        })
    };
    let (is_built, said) = build(22);
    assert!(is_built, "{said}");
    let (is_built, said) = build(23);
    assert!(!is_built);
    assert!(said.contains("invalid .org offset"), "{said}");
}

/// Short names are left to the kernel.
#[gate]
fn macros_of_the_kernel_may_have_any_short_name() {
    for arch in Arch::ALL {
        let names = ["save", "restore", "vector", "overflow", "exception_entry"];
        let [before, after] = [
            names.map(|name| format!(".macro {name};nop;.endm;")),
            names.map(|name| format!("{name};")),
        ]
        .map(|lines| format!("core::arch::global_asm!(\"{}\");", lines.concat()));
        let exceptions = "postmortem::exceptions!(EXCEPTIONS, POSTMORTEM);";
        let (is_built, said) = builds(arch, |folder| {
            let all = [&before, exceptions, &after].concat();
            replace(folder, "src/death.rs", &[(exceptions, &all)]);
        });
        assert!(is_built, "{arch:?}: {said}");
    }
}
