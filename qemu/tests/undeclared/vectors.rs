//! Exceptions of kernels whose vectors have no directives.

use super::{BEGIN, asked, calling, function, kernel, unmodified};

/// Vectors as many kernels have them: all slots branch, and the code behind one saves every register. `{save}` saves the link register and the
/// interrupted program counter.
fn vectors(save: &str, restore: &str) -> String {
    let slot = |number: usize| {
        let to = if number == 4 { "current" } else { "others" };
        format!(".balign 128\n b {to}\n")
    };
    let slots: String = (0..16).map(slot).collect();
    format!(
        ".balign 2048\n.globl vectors\nvectors:\n{slots}\
         current:\n sub sp, sp, #272\n stp x0, x1, [sp]\n stp x8, x9, [sp, #64]\n stp x28, x29, [sp, #224]\n{save}\n\
         mov x0, sp\n bl handle\n{restore}\n\
         ldp x28, x29, [sp, #224]\n ldp x8, x9, [sp, #64]\n ldp x0, x1, [sp]\n add sp, sp, #272\n eret\n\
         others: b others\n"
    )
}

/// The leaf has its return address in the link register, which the vectors save: the list contains its caller. Nothing is in doubt but the stack.
/// It is the same for a kernel that another linker has linked, whose tables the runner makes.
#[test]
fn an_exception_in_vectors_without_directives_interrupts_a_leaf() {
    let forms = [
        (
            " mrs x9, elr_el1\n mrs x8, spsr_el1\n stp x30, x9, [sp, #240]\n str x8, [sp, #256]",
            " ldp x30, x9, [sp, #240]\n ldr x8, [sp, #256]\n msr elr_el1, x9\n msr spsr_el1, x8",
        ),
        (
            " str x30, [sp, #240]\n mrs x0, elr_el1\n mrs x1, spsr_el1\n stp x0, x1, [sp, #-16]!",
            " ldp x0, x1, [sp], #16\n msr elr_el1, x0\n msr spsr_el1, x1\n ldr x30, [sp, #240]",
        ),
    ];
    for (save, restore) in forms {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let start = format!(
            ".cfi_undefined x30\n {BEGIN}\n adrp x0, vectors\n add x0, x0, :lo12:vectors\n msr vbar_el1, x0\n isb\n \
             mov x29, #0\n bl work\n b ."
        );
        let functions = [
            function("_start", &start),
            calling("work", "bl leaf"),
            // No memory is there.
            function("leaf", "mov x0, #0x100000000000\n ldr w0, [x0]\n ret"),
            calling("handle", "b ."),
            vectors(save, restore),
        ];
        let links = [
            (true, "tables verified"),
            (
                false,
                "unwind tables were synthesized from the image's code",
            ),
        ];
        for (has_tables, tables) in links {
            let image = match has_tables {
                true => kernel(folder.path(), &functions, 4096),
                false => unmodified(folder.path(), &functions, 4096),
            };
            let (text, report) = asked(&image);
            assert!(text.contains(tables), "{text}");
            let names = ["handle", "current", "leaf", "work", "_start"];
            assert_eq!(report.names(), names, "{text}");
            assert_eq!(report.words[0].0, 2, "{text}");
            assert!(report.words[0].1.starts_with("interrupted"), "{text}");
            assert_eq!(report.end, "end of backtrace: complete, 5 frames", "{text}");
        }
    }
}
