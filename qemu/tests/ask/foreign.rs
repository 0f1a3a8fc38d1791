//! Images that know nothing of this repository.

use std::fs;
use std::path::Path;
use std::time::Duration;

use object::{Object, ObjectSection, ObjectSymbol};
use qemu::build::{Kernel, Profile};
use qemu::image::PROBE;
use qemu::machine::{Arch, Boot};
use qemu::outside::Outside as Witness;

use super::asked::Asked;
use crate::guide::builds::Sources;
use crate::guide::short::{HANDLERS, VECTORS, replace};
use crate::support::boots::boot_machine;
use crate::support::built::{self, image, kernel};
use crate::support::corrupt;
use crate::support::report::Report;
use crate::support::runner::run;
use crate::support::tiny::{self, Act};

/// Boots it for a second of the machine's own time.
#[track_caller]
fn after_a_second(image: &Path) -> Asked {
    let arguments = ["--guest-timeout", "1", "--image"].map(str::as_ref);
    Asked::of(run([&arguments[..], &[image.as_os_str()]].concat()).expect(124))
}

/// A report runs on a stack of its own. If the kernel's writer hangs in a report, the list continues with the failed code.
#[gate]
fn a_hang_in_a_report_has_the_callers_of_the_failed_code() {
    for (kind, first) in [(HANDLERS, "long_mode"), (VECTORS, "with_mmu")] {
        let sources = Sources::of(kind.name);
        kind.apply(&sources);
        let serial = sources.folder().join("src/serial.rs");
        let sends = "text.bytes()";
        let hangs = "while text.contains(\"end of backtrace\") {}\n        text.bytes()";
        replace(&serial, sends, hangs);
        let (arch, profile) = (kind.arch, Profile::Debug);
        let built = sources.build(Kernel { arch, profile });
        let asked = after_a_second(&built.image);
        // The kernel's own report, which has no end, may be shown, too.
        let mut lists = asked.reports.iter();
        let list = lists.find(|list| list.names().contains(&"postmortem_call_on_stack"));
        let list = list.unwrap_or_else(|| panic!("{}", asked.text));
        let names = list.names();
        let place = |name| names.iter().position(|one| *one == name);
        let switch = place("postmortem_call_on_stack");
        assert!(switch < place("main"), "{}", asked.text);
        assert_eq!(names.last(), Some(&first), "{}", asked.text);
        let end = "end of backtrace: complete, ";
        assert!(list.end.starts_with(end), "{}", asked.text);
    }
}

/// The guide's kernel before its first step, which has no table and declares no stack; here it sells nothing, for ever.
#[gate]
fn a_kernel_of_somebody_else_is_walked_by_rows_that_are_proven_here() {
    let kernel = Sources::of("kernel");
    let shop = kernel.folder().join("src/shop.rs");
    let text = fs::read_to_string(&shop).expect("the file is there");
    let sells = "    println!(\"that is {price}\");\n";
    assert!(text.contains(sells), "{text}");
    let hangs = text.replace(sells, "    while price < 10 {}\n");
    fs::write(&shop, hangs).expect("the file can be written");
    let (arch, profile) = (Arch::X86_64, Profile::Debug);
    let built = kernel.build(Kernel { arch, profile });
    let asked = after_a_second(&built.image);
    let says = ", unwind tables were synthesized from the image's code, no stacks declared\n";
    assert!(asked.text.contains(says), "{}", asked.text);
    let [report] = &asked.reports[..] else {
        panic!("{}", asked.text);
    };
    let sources = report.frames.iter().flat_map(|frame| &frame.sources);
    let names: Vec<_> = sources.map(|source| source.name.as_str()).collect();
    let expected = [
        "corner_shop::shop::sell",
        "corner_shop::shop::serve",
        "main",
        "long_mode",
    ];
    assert_eq!(names, expected, "{}", asked.text);
    let sell = &report.frames[0].sources[0];
    let (file, _) = sell.place.as_ref().expect("it has a line");
    assert!(file.ends_with("src/shop.rs"), "{file}");
    // The rows of the functions are proven. The boot code is assembly without a function's symbol, and has none.
    let end = &report.end;
    assert!(
        end.starts_with("end of backtrace: incomplete: no unwind row for ")
            && !end.contains("in doubt"),
        "{end}"
    );
}

/// Rows without a checksum are of another tool, and nobody has compared them with the code, although they are right here.
#[gate]
fn rows_of_another_tool_are_in_doubt() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let kernel = image(kernel("x86_64_release"));
    let copy = corrupt::copy(&kernel, folder.path(), ".sframe", |table| {
        // The word that marks the checksum.
        let mark = table.len() - 4;
        table[mark..].fill(0);
    });
    let arguments = ["--guest-timeout", "1", "--image"].map(str::as_ref);
    let words = [copy.as_os_str(), "hang-masked".as_ref()];
    let asked = Asked::of(run([&arguments[..], &words[..]].concat()).expect(124));
    let says = ", tables without checksum\n";
    assert!(asked.text.contains(says), "{}", asked.text);
    let [report] = &asked.reports[..] else {
        panic!("{}", asked.text);
    };
    assert_eq!(report.names().last(), Some(&"kernel_entry"));
    let doubt = "from frame 0 on in doubt (the unwind rows were not compared with the code)";
    assert!(report.end.contains(doubt), "{}", report.end);
    assert!(!report.end.contains(": complete"), "{}", report.end);
}

/// Where no table can be read, the functions' code tells their callers: the same ones, and never a complete list.
#[gate]
fn without_a_table_the_code_is_read() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let kernel = image(kernel("x86_64_release"));
    let copy = corrupt::copy(&kernel, folder.path(), ".sframe", |table| table.fill(0));
    let ask = |image: &Path| {
        let arguments = ["--guest-timeout", "1", "--image"].map(str::as_ref);
        let words = [image.as_os_str(), "hang-deep".as_ref()];
        Asked::of(run([&arguments[..], &words[..]].concat()).expect(124))
    };
    let (by_table, by_code) = (ask(&kernel), ask(&copy));
    let says = ", tables damaged: ";
    assert!(by_code.text.contains(says), "{}", by_code.text);
    let [[table], [code]] = [&by_table.reports[..], &by_code.reports[..]] else {
        panic!("{}", by_code.text);
    };
    let addresses = |report: &Report| -> Vec<u64> {
        let frames = report.frames.iter();
        frames.map(|frame| frame.address).collect()
    };
    assert_eq!(addresses(code), addresses(table), "{}", by_code.text);
    assert!(code.frames.len() > 100, "{}", by_code.text);
    let letters: String = code.frames.iter().map(|frame| frame.letter).collect();
    assert_eq!(letters.trim_end_matches('a'), "p", "{}", by_code.text);
    let doubt = "from frame 1 on by its callee's code";
    assert!(code.end.contains(doubt), "{}", code.end);
    assert!(!code.end.contains(": complete"), "{}", code.end);
}

/// It runs another build than that of the image, which differs in an instruction that nobody executes.
#[gate]
fn a_list_through_code_of_another_build_is_in_doubt() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let kernel = image(kernel("x86_64_release"));
    let changed = {
        let data = fs::read(&kernel).expect("the image can be read");
        let file = object::File::parse(&*data).expect("it is ELF");
        let entry = file.symbol_by_name("kernel_entry").expect("it begins");
        let text = file.section_by_name(".text").expect("it has code");
        let code = text.data_range(entry.address(), entry.size());
        let mut code = code.expect("it is in the file").expect("of .text").to_vec();
        // The last byte of `ud2`, behind the call of a function that never returns.
        assert_eq!(code.split_off(code.len() - 2), [0x0f, 0x0b]);
        code.extend([0x0f, 0x0c]);
        corrupt::overwritten(&kernel, folder.path(), "kernel_entry", &code)
    };
    let doubt = ", from frame 0 on in doubt (the code in memory differs from the image), ";
    for (runs, is_doubtful) in [(&kernel, false), (&changed, true)] {
        let [image, runs] = [&kernel, runs].map(|path| path.to_str().expect("a path in UTF-8"));
        let words = ["--guest-timeout", "1", "--image", image, "--"];
        let given = "qemu-system-x86_64 -machine q35 -cpu max -append hang-masked -kernel";
        let words = words.into_iter().chain(given.split(' ')).chain([runs]);
        let asked = Asked::of(run(words).expect(124));
        let [report] = &asked.reports[..] else {
            panic!("{}", asked.text);
        };
        assert_eq!(report.names().last(), Some(&"kernel_entry"));
        assert_eq!(report.end.contains(doubt), is_doubtful, "{}", report.end);
        assert_eq!(
            report.end.contains(": complete, "),
            !is_doubtful,
            "{}",
            report.end
        );
    }
}

/// Code that differs where no CPU is, and nobody has come by: the walk is by rows that were proven for other code.
#[gate]
fn code_that_differs_elsewhere_puts_a_list_in_doubt() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for name in ["x86_64_release", "aarch64_release"] {
        let kernel = kernel(name);
        let image = image(kernel);
        let (start, code) = function(&image, PROBE);
        let changed = {
            let mut code = code;
            *code.last_mut().expect("it has code") ^= 1;
            corrupt::overwritten(&image, folder.path(), PROBE, &code)
        };
        let dumps = folder.path().join(name);
        let [image, runs] = [&image, &changed].map(|path| path.to_str().expect("UTF-8"));
        let dumps = dumps.to_str().expect("UTF-8");
        let words = [
            "--guest-timeout",
            "1",
            "--dump",
            dumps,
            "--image",
            image,
            "--",
        ];
        let given = format!(
            "{} -append hang-masked -kernel {runs}",
            machine(kernel.arch)
        );
        let asked = Asked::of(run(words.into_iter().chain(given.split(' '))).expect(124));
        let [report] = &asked.reports[..] else {
            panic!("{}", asked.text);
        };
        assert_eq!(report.names().last(), Some(&"kernel_entry"));
        let differs = "tables verified, the code at address 0x";
        let (_, range) = asked
            .text
            .split_once(differs)
            .unwrap_or_else(|| panic!("{}", asked.text));
        let at = u64::from_str_radix(&range[..16], 16).expect("an address");
        assert!(
            at <= start && start - at < 16 << 10,
            "{start:#x}: {}",
            asked.text
        );
        let doubt = ", from frame 0 on in doubt (";
        assert!(report.end.contains(doubt), "{}", report.end);
        assert!(!report.end.contains(": complete"), "{}", report.end);
        let dump = fs::read_dir(dumps)
            .expect("a dump")
            .next()
            .expect("one")
            .expect("a folder");
        let again = run(["autopsy".as_ref(), dump.path().as_os_str()]).expect(0);
        assert!(
            again.text().contains(report.end.as_str()),
            "{}",
            again.text()
        );
    }
}

/// A command that boots another image than that which was named: no function, stack or task of that is called by its name.
#[gate]
fn no_name_is_that_of_an_image_that_does_not_run() {
    for (name, other) in [
        ("x86_64_release", "x86_64_debug"),
        ("aarch64_release", "aarch64_debug"),
    ] {
        let kernel = kernel(name);
        let [named, runs] = [kernel, built::kernel(other)].map(image);
        let [named, runs] = [&named, &runs].map(|path| path.to_str().expect("UTF-8"));
        let words = ["--guest-timeout", "1", "--image", named, "--"];
        let given = format!("{} -append hang-tasks -kernel {runs}", machine(kernel.arch));
        let asked = Asked::of(run(words.into_iter().chain(given.split(' '))).expect(124));
        assert!(
            asked
                .text
                .contains(", the machine's memory does not contain the image\n"),
            "{}",
            asked.text
        );
        for name in ["+0x", ", stack ", "\ntask ", ": complete"] {
            assert!(!asked.text.contains(name), "{name:?} in {}", asked.text);
        }
    }
}

/// The address of a function, and its code.
fn function(image: &Path, name: &str) -> (u64, Vec<u8>) {
    let data = fs::read(image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("it is ELF");
    let symbol = file.symbol_by_name(name).expect("it is there");
    let text = file.section_by_name(".text").expect("it has code");
    let code = text.data_range(symbol.address(), symbol.size());
    let code = code.expect("it is in the file").expect("of .text").to_vec();
    (symbol.address(), code)
}

/// A machine that runs a kernel, as somebody would type it.
const fn machine(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "qemu-system-x86_64 -machine q35 -cpu max -m 300M",
        Arch::Aarch64 => "qemu-system-aarch64 -machine virt -cpu max -m 300M",
    }
}

/// At the level of a hypervisor, which has other page tables, here none.
#[gate]
fn a_hypervisor_is_asked_as_well() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let arch = Arch::Aarch64;
    let image = tiny::image(folder.path(), arch, &[Act::Spin]);
    let outside = Witness::new(&image);
    let boot = Boot {
        witness: Some(&outside),
        guest_limit: Some(Duration::from_secs(1)),
        more: &["-machine", "virtualization=on"],
        ..Boot::new(arch, &image, "")
    };
    let booted = boot_machine(&boot);
    let asked = booted.asked.concat();
    let says = "   0: 0x0000000040200000 p\n";
    assert!(asked.contains(says), "{asked}");
}

/// Where no kernel ever is: firmware's modes, below the kernel.
#[gate]
fn firmware_is_asked_as_well() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let managed = "cpu 0 is not in 64-bit mode, at 0x0000000000008000, interrupts masked\n";
    let secure: &[&str] = &["-machine", "secure=on"];
    for (arch, act, more, says) in [
        (Arch::X86_64, Act::Manage, &[][..], managed),
        (
            Arch::Aarch64,
            Act::Spin,
            secure,
            "   0: 0x0000000040200000 p\n",
        ),
    ] {
        let image = tiny::image(folder.path(), arch, &[act]);
        let outside = Witness::new(&image);
        let boot = Boot {
            witness: Some(&outside),
            guest_limit: Some(Duration::from_secs(2)),
            more,
            ..Boot::new(arch, &image, "")
        };
        let booted = boot_machine(&boot);
        let asked = booted.asked.concat();
        assert!(asked.contains(says), "{asked}");
        assert!(!asked.contains(": complete"), "{asked}");
    }
}

/// Without paging, and with no symbol at all.
#[gate]
fn an_image_without_anything_has_at_least_a_program_counter() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (arch, says) in [
        (
            Arch::X86_64,
            "cpu 0 is not in 64-bit mode, at 0x0000000000100000",
        ),
        (Arch::Aarch64, "   0: 0x0000000040200000 p\n"),
    ] {
        let image = tiny::image(folder.path(), arch, &[Act::Spin]);
        let asked = after_a_second(&image);
        assert!(asked.text.contains(says), "{}", asked.text);
        assert!(asked.text.contains("no tables"), "{}", asked.text);
        assert!(!asked.text.contains("complete,"), "{}", asked.text);
    }
}
