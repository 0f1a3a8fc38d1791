//! A kernel in the upper half, which has mapped physical memory there too; and what it may say wrongly of that.

use qemu::build::Profile;

use super::reports::COMPLETE;
use super::short::{self, HANDLERS, HIGHER};
use super::steps;
use super::text::{part, without_numbers};

#[long]
fn a_kernel_in_the_upper_half_has_the_same_report() {
    let [low, high] = [HANDLERS, HIGHER].map(|kind| {
        let text = without_numbers(&kind.with(Profile::Debug, |_| ()).text);
        // The shelves of the first customers are at low addresses.
        text[text.find("page fault\nx86_64").expect("an exception")..].to_owned()
    });
    assert!(low.contains("end of backtrace: complete, "), "{low}");
    assert_eq!(high, low);
}

/// A section whose code is where physical memory is mapped, far from all other code. Code in a writable section has no checksum.
#[long]
fn code_in_two_places_is_read_in_both() {
    for flags in ["ax", "awx"] {
        code_in_another_section_is_read(flags);
    }
}

fn code_in_another_section_is_read(flags: &str) {
    let shop = "
        core::arch::global_asm!(
            \".section .far, \\\"FLAGS\\\"\", \".global far\", \".type far, @function\",
            \"far: sub rsp, 8\", \"call rdi\", \"add rsp, 8\", \"ret\", \".size far, . - far\", \".text\",
        );
        unsafe extern \"C\" { fn far(of: extern \"C\" fn()); }
        static FAR: unsafe extern \"C\" fn(extern \"C\" fn()) = far;
        #[inline(never)]
        pub fn serve(_: u64) {
            // SAFETY: calls its argument.
            unsafe { (&raw const FAR).read_volatile()(sell) }
            core::hint::black_box(());
        }
        #[inline(never)]
        extern \"C\" fn sell() { if core::hint::black_box(true) { panic!(\"sold out\") } }
    ";
    let said = HIGHER.with(Profile::Debug, |folder| {
        steps::apply(&part("complete-lists.md"), folder);
        short::write_shop(folder, &shop.replace("FLAGS", flags));
        let script = folder.join("kernel.ld");
        let phdrs = " far PT_LOAD FLAGS(7); rest PT_LOAD FLAGS(7); }";
        short::replace(
            &script,
            "all PT_LOAD FLAGS(7); }",
            &format!("all PT_LOAD FLAGS(7); {phdrs}"),
        );
        let far = "
            . = 0xffff800000000000 + (ALIGN(4096) - 0xffffffff80000000);
            .far : AT(ADDR(.far) - 0xffff800000000000) { *(.far) } :far
            . = 0xffffffff80000000 + (. - 0xffff800000000000);
            image_end = .;";
        short::replace(&script, "    image_end = .;", far);
        short::replace(&script, "*(.bss .bss.*) }", "*(.bss .bss.*) } :rest");
    });
    let frames = said.text.lines().filter(|line| line.contains(": 0x"));
    let names = frames.map(|line| line.split([' ', '+']).nth(6).unwrap_or(line));
    let names: Vec<_> = names.collect();
    let expected = [
        "__rustc::rust_begin_unwind",
        "core::panicking::panic_fmt",
        "corner_shop::shop::sell",
        "far",
        "corner_shop::shop::serve",
        "main",
        "long_mode",
    ];
    assert_eq!(names, expected, "{}", said.text);
    // Each call was read, in both places.
    let end = "end of backtrace: complete, 7 frames\n";
    assert!(said.text.ends_with(end), "{}", said.text);
}

/// Page tables call all of it memory: the interrupt controller, and the screen. Without MTRRs they are believed.
#[long]
fn what_the_firmware_calls_a_device_is_not_read() {
    for sp in ["0xffff_8000_fee0_0020", "0xffff_8000_000b_8000"] {
        let shop = "
            #[inline(never)]
            pub fn serve(_: u64) {
                let mut registers = postmortem::capture();
                let sp = core::mem::replace(&mut registers.sp, SP);
                postmortem::print_from(&mut crate::serial::Serial, &\"lost\", registers);
                registers.sp = sp;
                // SAFETY: in an emulator caches make no difference.
                unsafe {
                    core::arch::asm!(\"rdmsr\", \"and eax, 0xfffff7ff\", \"wrmsr\",
                        in(\"ecx\") 0x2ff, out(\"eax\") _, out(\"edx\") _)
                }
                postmortem::print_from(&mut crate::serial::Serial, &\"found\", registers);
                if core::hint::black_box(true) { panic!(\"sold out\") }
            }
        ";
        let said = HIGHER.with_shop(Profile::Debug, &shop.replace("SP", sp));
        let at = sp.replace('_', "");
        // Up to the offset in the function's frame.
        let end = format!(
            "incomplete: the stack word at address {}",
            &at[..at.len() - 3]
        );
        said.expect("lost\n", "p corner_shop::shop::serve", &end);
        let trace = "p corner_shop::shop::serve\nr main\nr long_mode";
        said.expect("found\n", trace, COMPLETE);
    }
}

/// The page tables are looked for at another place, where memory is mapped; nowhere; and where nothing can be.
#[long]
fn what_is_told_wrongly_is_not_believed() {
    let trace = "
        p corner_shop::exceptions::page_fault
        -- interrupted
        p corner_shop::shop::sell
        r main
        r long_mode
    ";
    let why = "the memory at the address passed to physical_memory_at contains no page tables";
    for address in [
        "0xffff_8000_0020_0000",
        "0xffff_8000_0000_0008",
        "0x0010_0000_0000_0000",
    ] {
        let said = HIGHER.with_wrong(address, |_| ());
        let end = "incomplete: the stack word at ";
        said.expect("page fault\n", "p corner_shop::exceptions::page_fault", end);
        let words = format!("\nno stack is readable, because stacks_by was not called and {why}\n");
        assert!(said.text.contains(&words), "{}", said.text);

        let said = HIGHER.with_wrong(address, |folder| {
            steps::apply(&part("complete-lists.md"), folder);
        });
        // Nor can the code be found, so that nothing shows how a handler is entered that never returns: the first doubt.
        let end = "outermost function reached, from frame 1 on in doubt (no proof for the unwind row of frame 0";
        said.expect("page fault\n", trace, end);
        let words = format!("\nthe mapped addresses are unknown, because {why}\n");
        assert!(said.text.contains(&words), "{}", said.text);
    }
}

/// Nothing is mapped there: the kernel's own handler is called again, and that is one line.
#[long]
fn an_address_that_is_not_mapped_ends_the_report() {
    let said = HIGHER.with_wrong("0xffff_9000_0000_0000", |_| ());
    let lines: Vec<_> = said
        .text
        .lines()
        .skip_while(|line| *line != "page fault")
        .collect();
    let [_, during, again] = &lines[..] else {
        panic!("{}", said.text);
    };
    assert!(
        again.starts_with("page fault at 0xffffffff80"),
        "{}",
        said.text
    );
    assert_eq!(*during, "during the report: page fault", "{}", said.text);
}
