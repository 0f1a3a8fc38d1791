//! Kernels that a boot loader starts, each with what the guide changes in it: what they say of a breakpoint, from which they go on,
//! of a panic, of a page fault, and of a failure in a handler.

use std::path::Path;

use qemu::build::Profile;
use qemu::machine::Arch;

use crate::reports::{IN_DOUBT, expect_stop, stop_in};
use crate::short::{HANDLERS, HIGHER, Kind, SMALLEST, Said, VECTORS};
use crate::text::{guide, guide_file, part, shown, without_numbers};
use crate::{bootimage, limine, makefile, raspi, short, uefi};

/// What each kind costs is about what the guide's table says; with `TABLE=write` that is made. Sizes differ a little from one
/// checkout to the next, because images contain the paths of their sources.
#[test]
#[ignore = "takes long: .ci/long"]
fn the_table_of_costs() {
    let debug = Profile::Debug;
    let of = |kind: Kind| (kind.without(debug), kind.with(debug, |_| ()));
    let kinds = [
        (
            "handlers of the convention `x86-interrupt`",
            HANDLERS.lines,
            of(HANDLERS),
        ),
        ("vectors on AArch64", VECTORS.lines, of(VECTORS)),
        (
            "a disk of the crate `bootloader`, unoptimized",
            bootimage::LINES,
            (bootimage::without(), bootimage::with(debug, |_| ())),
        ),
        (
            "UEFI, by the crate `bootloader` 0.11, unoptimized",
            uefi::LINES,
            (uefi::without(), uefi::with(debug, |_| ())),
        ),
        (
            "Limine's protocol, unoptimized",
            limine::LINES,
            (limine::without(), limine::with(debug, |_| ())),
        ),
        (
            "a Makefile with `RUSTFLAGS`, and an ISO",
            makefile::LINES,
            (makefile::without(), makefile::with(|_| ())),
        ),
        (
            "a Raspberry Pi",
            raspi::LINES,
            (raspi::without(), raspi::with(|_| ())),
        ),
        ("the smallest form", SMALLEST.lines, of(SMALLEST)),
    ];
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let rows = kinds.map(|(name, lines, (before, after))| {
        let [sframe, symbols] = [".sframe", ".symbols"].map(|name| kib(after.section(name)));
        let [before, after] = [before, after].map(|said| kib(said.loaded()));
        format!("| {name} | {lines} | {before} | {after} | {sframe} | {symbols} |\n")
    });
    let table = TABLE.to_owned() + &rows.concat();
    let guide = guide();
    let (before, rest) = guide.split_once(TABLE).expect("its table");
    let (_, after) = rest.split_once("\n\n").expect("text behind it");
    let made = format!("{before}{table}\n{after}");
    if std::env::var_os("TABLE").is_some() {
        std::fs::write(guide_file(), &made).expect("the guide can be written");
    } else {
        let shown = before.len() + TABLE.len()..guide.len() - after.len() - 1;
        let shown: Vec<_> = guide[shown].lines().collect();
        let is_same = shown.len() == rows.len() && shown.into_iter().zip(&rows).all(is_about);
        assert!(is_same, "TABLE=write makes this of it:\n{table}");
    }
}

/// Whether two rows of the table have the same name and lines, and sizes that differ by paths only.
fn is_about((shown, made): (&str, &String)) -> bool {
    let cells = |row: &str| row.split(" | ").map(str::to_owned).collect::<Vec<_>>();
    let number = |cell: &str| cell.trim_matches([' ', '|', '\n']).parse::<u64>();
    let (shown, made) = (cells(shown), cells(made));
    let sizes = shown.iter().zip(&made).skip(2);
    shown.len() == made.len()
        && shown[..2] == made[..2]
        && sizes.into_iter().all(|(shown, made)| {
            let [Ok(shown), Ok(made)] = [shown, made].map(|cell| number(cell)) else {
                return false;
            };
            shown.abs_diff(made) <= 2 + made / 50
        })
}

/// The head of that table.
const TABLE: &str = "\
| kernel | changed lines | KiB loaded before | after | of them rows | names and lines |
|---|---|---|---|---|---|
";

/// Fails unless the guide's part shows this report, which begins with this line.
#[track_caller]
fn expect_shown(text: &str, begin: &str, heading: &str) {
    let report = &text[text.find(begin).expect("a report")..];
    let guide = guide();
    let shown = shown(part(&guide, heading));
    assert_eq!(without_numbers(report).trim_end(), shown.trim_end());
}

/// A kernel with handlers of the convention `x86-interrupt`, which a boot loader starts, of which the guide has this part, before its
/// changes and after them. Its handlers are in this module, and these functions call its shop.
fn expect_loaded(heading: &str, handlers: &str, callers: &str, without: fn() -> Said, with: With) {
    let before = without().text;
    assert!(before.contains("\npage fault at "), "{before}");
    assert!(!before.contains("backtrace"), "{before}");

    let said = with(Profile::Debug, None);
    expect_shown(&said.text, "page fault\nx86_64", heading);

    for profile in [Profile::Debug, Profile::Release] {
        let said = with(profile, Some(&stop_in(Arch::X86_64)));
        let handler = format!("p corner_shop::{handlers}::breakpoint\n-- interrupted");
        let trace = format!("{handler}\np corner_shop::shop::stop\n{callers}");
        said.expect("breakpoint\nx86_64", &trace, IN_DOUBT);
        let trace = format!("= panic\nr corner_shop::shop::sell\n{callers}");
        said.expect("panicked at src/shop.rs:", &trace, IN_DOUBT);
        assert!(said.text.contains("\nwent on\n"), "{}", said.text);
    }

    // The handler of double faults panics, on a stack of its own.
    let said = with(Profile::Debug, Some(DOUBLE_FAULT));
    let handler = format!("r corner_shop::{handlers}::double_fault\n-- interrupted");
    let trace = format!("= panic\n{handler}\n{}", callers.replacen("r ", "p ", 1));
    said.expect("panicked at ", &trace, IN_DOUBT);
}

/// What calls the shop in kernels of the crate `bootloader`.
const BOOTLOADER: &str = "r corner_shop::shop::serve\nr corner_shop::kernel_main\nr _start";

/// Boots such a kernel with the changes of the guide, and what goes wrong in its shop, if that is another thing.
type With = fn(Profile, Option<&str>) -> Said;

/// An exception that has no handler.
const DOUBLE_FAULT: &str = "
    #[inline(never)]
    pub fn serve(_: u64) {
        // SAFETY: nobody returns from there.
        unsafe { core::arch::asm!(\"ud2\") };
        crate::println!(\"nobody comes here\");
    }
";

/// Has something else go wrong.
fn sell(shop: Option<&str>) -> impl FnOnce(&Path) {
    move |folder| {
        if let Some(shop) = shop {
            short::write_shop(folder, shop);
        }
    }
}

#[test]
#[ignore = "takes long: .ci/long"]
fn a_disk_of_the_crate_bootloader() {
    let with: With = |profile, shop| bootimage::with(profile, sell(shop));
    expect_loaded(
        bootimage::HEADING,
        "interrupts",
        BOOTLOADER,
        bootimage::without,
        with,
    );
}

#[test]
#[ignore = "takes long: .ci/long"]
fn a_disk_for_uefi_firmware() {
    let with: With = |profile, shop| {
        let said = uefi::with(profile, sell(shop));
        assert_ne!(said.moved, 0, "{}", said.text);
        said
    };
    expect_loaded(uefi::HEADING, "interrupts", BOOTLOADER, uefi::without, with);
}

#[test]
#[ignore = "takes long: .ci/long"]
fn a_kernel_by_the_protocol_of_limine() {
    let with: With = |profile, shop| limine::with(profile, sell(shop));
    let callers = "r corner_shop::shop::serve\nr kmain";
    expect_loaded(
        limine::HEADING,
        "exceptions",
        callers,
        limine::without,
        with,
    );
}

#[test]
#[ignore = "takes long: .ci/long"]
fn a_makefile_with_rustflags_and_an_iso() {
    let before = makefile::without().text;
    assert!(before.contains("\npanicked at "), "{before}");
    assert!(!before.contains("backtrace"), "{before}");

    let said = makefile::with(|_| ());
    expect_shown(&said.text, "panicked at ", makefile::HEADING);

    let said = makefile::with(|folder| short::write_shop(folder, STOP_AND_FAULT));
    let callers = "r corner_shop::shop::serve\nr~ main\nr long_mode";
    let entry = |name| format!("r corner_shop::exceptions::{name}_entry\n-- interrupted");
    let handler = format!(
        "p corner_shop::exceptions::breakpoint\n{}",
        entry("breakpoint")
    );
    let trace = format!("{handler}\np corner_shop::shop::stop\n{callers}");
    said.expect("breakpoint\nx86_64", &trace, IN_DOUBT);
    let handler = format!(
        "= panic\nr corner_shop::exceptions::page_fault\n{}",
        entry("page_fault")
    );
    let trace = format!("{handler}\np corner_shop::shop::sell\n{callers}");
    said.expect("panicked at src/exceptions.rs:", &trace, IN_DOUBT);
    assert!(said.text.contains("\nwent on\n"), "{}", said.text);
}

/// What the guide says of `debug` in a profile.
#[test]
#[ignore = "takes long: .ci/long"]
fn debug_information_of_less_detail() {
    let debug = |value: &str| {
        let said = makefile::with(|folder| {
            let with = format!("opt-level = 1\ndebug = {value}");
            short::replace(&folder.join("Cargo.toml"), "opt-level = 1", &with);
        });
        said.text
    };
    expect_shown(&debug("\"limited\""), "panicked at ", makefile::HEADING);

    let text = debug("\"line-tables-only\"");
    for line in [
        "inlined into price_on at src/shop.rs:27\n",
        "inlined into corner_shop::shop::sell at src/shop.rs:15\n",
    ] {
        assert!(text.contains(line), "{text}");
    }

    let text = debug("false");
    let (_, trace) = text.split_once("\n   0: 0x").expect("a report");
    assert!(
        trace.contains(" r corner_shop::exceptions::page_fault+0x"),
        "{text}"
    );
    for lost in [" at src/", " at core/", "inlined into"] {
        assert!(!trace.contains(lost), "{text}");
    }
}

/// What the guide says of `-Zbuild-std`: the kernel's profile decides whether `core` has debug assertions. Rustup's has none, as this
/// program shows, which has the same code and was not optimized either.
#[test]
#[ignore = "takes long: .ci/long"]
fn core_that_is_built_as_the_profile_says() {
    let shop = "
        #[inline(never)]
        pub fn serve(customers: u64) {
            let sum: u64 = core::hint::black_box([customers, 1]).into_iter().sum();
            panic!(\"{sum}\");
        }
    ";
    // An assertion of `core::ops::IndexRange`, by which arrays are walked.
    let assertion = "assertion failed: self.START < self.end".replace("START", "start");
    let has_assertion = |bytes: &[u8]| {
        let mut windows = bytes.windows(assertion.len());
        windows.any(|window| window == assertion.as_bytes())
    };
    let of = |profile| has_assertion(&HANDLERS.with_shop(profile, shop).image());
    assert!(of(Profile::Debug));
    assert!(!of(Profile::Release));

    let numbers = std::hint::black_box([3_u64, 1]);
    assert_eq!(numbers.into_iter().sum::<u64>(), 4);
    let this = std::env::current_exe().and_then(std::fs::read);
    assert!(!has_assertion(&this.expect("it can be read")));
}

/// Where gdb knows all callers: without an exception between them, as the call frame information of interrupt handlers is wrong, and
/// vectors have none.
#[test]
#[ignore = "takes long: .ci/long"]
fn gdb_sees_the_same_callers_of_a_panic() {
    let panic = "
        #[inline(never)]
        pub fn serve(customers: u64) {
            sell(core::hint::black_box(customers));
            crate::println!(\"nobody comes here\");
        }
        #[inline(never)]
        fn sell(customers: u64) { assert!(customers == 0, \"sold out\"); }
    ";
    let shop = |folder: &Path| short::write_shop(folder, panic);
    let debug = Profile::Debug;
    for said in [
        HANDLERS.with_shop(debug, panic),
        HIGHER.with_shop(debug, panic),
        VECTORS.with_shop(debug, panic),
        bootimage::with(debug, shop),
        uefi::with(debug, shop),
        limine::with(debug, shop),
        makefile::with(shop),
        raspi::with(shop),
    ] {
        said.expect_gdb_to_agree("panicked at src/shop.rs:");
    }
}

/// A breakpoint, and then a page fault, whose handler panics.
const STOP_AND_FAULT: &str = "
    #[inline(never)]
    pub fn serve(_: u64) {
        stop();
        crate::println!(\"went on\");
        crate::println!(\"nobody sees {}\", sell());
    }
    #[inline(never)]
    fn stop() {
        // SAFETY: its handler returns.
        unsafe { core::arch::asm!(\"int3\") };
    }
    #[inline(never)]
    fn sell() -> u64 {
        // SAFETY: none, and nobody returns from this.
        unsafe { (0x70_0000_0000 as *const u64).read_volatile() }
    }
";

/// Cargo leaves out the `rustflags` of `.cargo/config.toml`, and says nothing.
#[test]
#[ignore = "takes long: .ci/long"]
fn rustflags_of_the_environment_take_the_place_of_those_in_the_file() {
    let said = makefile::with(makefile::set_in_config);
    let (_, end) = said
        .text
        .split_once("\nend of backtrace: ")
        .expect("a report");
    let (_, end) = end.split_once("incomplete: no row for 0x").expect(end);
    assert_eq!(
        end.get(16..),
        Some(": no function in the table, 7 frames\n")
    );
}

#[test]
#[ignore = "takes long: .ci/long"]
fn a_raspberry_pi() {
    let before = raspi::without().text;
    assert!(before.contains("\nexception, ESR_EL1 0x"), "{before}");
    assert!(!before.contains("backtrace"), "{before}");

    let said = raspi::with(|_| ());
    expect_shown(&said.text, "exception\naarch64", raspi::HEADING);

    let said = raspi::with(|folder| short::write_shop(folder, &stop_in(Arch::Aarch64)));
    expect_stop(&said, Arch::Aarch64, IN_DOUBT);

    // Where the function that was interrupted has saved its return address: vectors do not tell x30.
    let said = raspi::with(|folder| {
        raspi::panic_at_breakpoints(folder);
        short::write_shop(folder, STOP_IN_THE_MIDDLE);
    });
    let trace = "
        = panic
        r exception
        r save
        -- interrupted
        p corner_shop::shop::sell
        r corner_shop::shop::serve
        r~ main
        r with_mmu
    ";
    said.expect("panicked at src/exceptions.rs:", trace, IN_DOUBT);
}

/// A breakpoint in a function that calls others.
const STOP_IN_THE_MIDDLE: &str = "
    #[inline(never)]
    pub fn serve(customers: u64) {
        sell(customers);
        crate::println!(\"nobody comes here\");
    }
    #[inline(never)]
    fn sell(customers: u64) {
        crate::println!(\"customer {customers}\");
        // SAFETY: nobody returns from it.
        unsafe { core::arch::asm!(\"brk #7\") };
        crate::println!(\"nobody comes here\");
    }
";

/// The kernel says registers and words only, and the runner who called.
#[test]
#[ignore = "takes long: .ci/long"]
fn the_smallest_form() {
    let said = SMALLEST.with(Profile::Debug, |_| ());
    let text = said.autopsy();
    // The folder where it was built.
    let (before, _) = text.split_once("/src/exceptions.rs").expect("its handler");
    let (_, folder) = before.rsplit_once(" at ").expect("a place");
    let text = text.replace(&format!("{folder}/"), "");
    expect_shown(&text, "asked from outside", "\n## The smallest form\n");

    let said = SMALLEST.with_shop(Profile::Release, &stop_in(Arch::X86_64));
    let text = said.autopsy();
    let (stop, panic) = text.split_once("sold out").expect("two stacks");
    for (text, names) in [
        (stop, &["breakpoint", "stop", "serve", "long_mode"][..]),
        (panic, &["panic_fmt", "sell", "serve", "long_mode"]),
    ] {
        let mut lines = text.lines();
        for name in names {
            let is_there = lines.any(|line| line.contains(name));
            assert!(is_there, "no {name} in its place in:\n{text}");
        }
    }

    let before = SMALLEST.without(Profile::Release).loaded();
    let after = SMALLEST.with(Profile::Release, |_| ()).loaded();
    let whole = HANDLERS.with(Profile::Release, |_| ()).loaded();
    println!("{before} bytes are loaded, {after} with a stack's words, {whole} with reports");
    assert!(after - before < 8192, "{after} - {before}");
}
