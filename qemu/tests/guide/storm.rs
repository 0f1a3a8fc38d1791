//! A kernel that loads and removes a module again and again, while NMIs report where it is, and another CPU does so with
//! a module of its own.

use qemu::build::Profile;
use qemu::machine::Arch;

use super::cpus::X86_64;
use super::modules::{self, named};
use super::short::replace;

/// How many NMIs there are, each with its report.
const REPORTS: usize = 200;

const SHOP: &str = "
    use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use crate::serial::Serial;
    static OPEN: AtomicBool = AtomicBool::new(false);
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    const REPORTS: u32 = COUNT;
    #[inline(never)]
    extern \"C\" fn answer(of: u64) -> u64 {
        (0..20_000).fold(of, |sum, next| black_box(sum + next))
    }
    /// The first CPU: the module comes and goes.
    #[inline(never)]
    pub fn serve(_: u64) {
        let (module, order) = load();
        let (mut served, mut refused) = (0, 0);
        OPEN.store(true, Ordering::Release);
        while TAKEN.load(Ordering::Acquire) < REPORTS {
            // SAFETY: it stays as it is.
            match unsafe { MODULES.register(module) } {
                Ok(()) => {}
                Err(postmortem::ModuleError::InUse) => {
                    refused += 1;
                    continue;
                }
                Err(error) => panic!(\"{error}\"),
            }
            black_box(order(Some(answer), 1));
            served += 1;
            while MODULES.remove(module.code.start).is_err() {
                refused += 1;
            }
        }
        println!(\"served {served}, refused {refused}\");
        panic!(\"sold out\");
    }
    /// The second one interrupts the first, when it is done with the last interrupt.
    pub fn interrupt() -> ! {
        while !OPEN.load(Ordering::Acquire) {}
        let mut random = 1_u32;
        for sent in 0..REPORTS {
            while TAKEN.load(Ordering::Acquire) < sent {}
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            for _ in 0..random >> 17 {
                core::hint::spin_loop();
            }
            crate::cpus::command(0x4400);
        }
        loop {
            core::hint::spin_loop();
        }
    }
    /// The third one has a module too.
    pub fn change() -> ! {
        static CODE: [u8; 64] = [0; 64];
        let nothing = Range::new(0, 0);
        let start = CODE.as_ptr() as u64;
        let code = Range::new(start, start + CODE.len() as u64);
        while !OPEN.load(Ordering::Acquire) {}
        loop {
            // SAFETY: it stays as it is.
            while unsafe { MODULES.register(Module { code, tables: nothing, symbols: nothing }) }.is_err() {}
            while MODULES.remove(start).is_err() {}
        }
    }
    /// What the first one does at an NMI.
    pub fn report() {
        println!(\"interrupted\");
        postmortem::print(&mut Serial, &\"\");
        TAKEN.fetch_add(1, Ordering::Release);
    }
";

/// The numbers behind these words.
fn number(text: &str, words: &str) -> u64 {
    let (_, rest) = text.split_once(words).expect(text);
    let digits = rest.split(|other: char| !other.is_ascii_digit());
    let digits = digits.into_iter().next().unwrap_or_default();
    digits.parse().expect(rest)
}

#[long]
fn nmis_report_rightly_while_modules_come_and_go() {
    let said = X86_64.boot(Profile::Debug, |folder| {
        modules::apply(
            Arch::X86_64,
            folder,
            &SHOP.replace("COUNT", &REPORTS.to_string()),
        );
        let source = folder.join("src");
        let cpus = source.join("cpus.rs");
        replace(&cpus, "fn command(", "pub fn command(");
        replace(&cpus, "while !staff::all_work()", "while false");
        let staff = source.join("staff.rs");
        let first = "//! What the other processors do.\n";
        replace(&staff, first, &[first, "#![allow(dead_code)]\n"].concat());
        replace(&staff, "=> sweep(),", "=> crate::shop::interrupt(),");
        replace(&staff, "=> guard(),", "=> crate::shop::change(),");
        let exceptions = source.join("exceptions.rs");
        let handlers = "    let handlers = [";
        let nmi = "(2, nmi as *const () as u64, 0),";
        replace(&exceptions, handlers, &[handlers, nmi].concat());
        let code = "extern \"x86-interrupt\" fn nmi(_: Frame) { crate::shop::report(); }\n";
        let first = "extern \"x86-interrupt\" fn breakpoint(";
        replace(&exceptions, first, &[code, first].concat());
    });
    let text = &said.text;
    let mut reports = text.split("\ninterrupted\n");
    let before = reports.next().unwrap_or_default();
    assert!(!before.contains("end of backtrace"), "{text}");
    let (mut in_module, mut in_registry) = (0, 0);
    let mut count = 0;
    for report in reports {
        count += 1;
        let (list, end) = report.split_once("\nend of backtrace: ").expect(report);
        assert!(end.starts_with("complete, "), "{report}");
        let (_, list) = list.split_once("----- interrupted -----\n").expect(report);
        let names = named(list);
        let names: Vec<_> = names.iter().rev().map(|name| &name[2..]).collect();
        let [begin, serve, rest @ ..] = &names[..] else {
            panic!("{report}");
        };
        assert_eq!(
            [*begin, *serve],
            ["long_mode", "corner_shop::shop::serve"],
            "{report}"
        );
        let through = ["order", "price", "corner_shop::shop::answer"];
        let is_module = |name: &&&str| through[..2].contains(name);
        // Each of them is called by the one before, and by nothing else.
        match rest.iter().filter(is_module).count() {
            0 => in_registry += usize::from(rest.iter().any(|name| name.contains("Modules"))),
            module => {
                in_module += 1;
                assert_eq!(rest[..module], through[..module], "{report}");
                assert!(
                    rest.get(2).is_none_or(|name| *name == through[2]),
                    "{report}"
                );
            }
        }
    }
    println!("{in_module} in the module, {in_registry} in the registry");
    assert_eq!(count, REPORTS, "{text}");
    assert!(in_module >= 20 && in_registry >= 20, "{text}");
    println!(
        "served {}, refused {}",
        number(text, "served "),
        number(text, "refused ")
    );
    assert!(
        number(text, "served ") > 100 && number(text, "refused ") > 0,
        "{text}"
    );
}
