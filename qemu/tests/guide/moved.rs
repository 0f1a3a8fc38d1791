//! A kernel that lies elsewhere than it is linked at.

use std::path::Path;

use qemu::build::Profile;
use regex::Regex;

use super::short::{MOVED, VECTORS, replace, write_shop};
use super::steps;
use super::text::{part, without_numbers};

#[long]
fn an_image_that_was_moved_has_the_same_report() {
    let complete = |folder: &Path| {
        steps::apply(&part("complete-lists.md"), folder);
    };
    let before = VECTORS.with(Profile::Debug, complete).text;
    let after = MOVED.with(Profile::Debug, |folder| {
        make_movable(folder);
        complete(folder);
    });
    assert!(before.contains("complete, 3 frames"), "{before}");
    assert!(after.text.contains("   0: 0x00000000412"), "{}", after.text);
    // Not by the names, which tell it too.
    // Some of the relocations are made in the code.
    let moved = "tables verified, code not compared, moved by 0x1000000\n";
    assert!(after.text.contains(moved), "{}", after.text);
    let unmoved = after.text.replace(moved, "tables and code verified\n");
    assert_eq!(without_numbers(&unmoved), without_numbers(&before));
    let bare =
        Regex::new("(?m)^( +[0-9]+: 0x[0-9a-f]{16} [a-z]).*\n(?: {8}.*\n)*").expect("a pattern");
    let bare = bare.replace_all(&after.text, "$1\n");
    assert!(!bare.contains("serve"), "{bare}");
    // The image knows generic arguments, too.
    let decoded = after.decode(&bare).replace("::<u64>", "");
    assert_eq!(named(&decoded), named(&after.text), "{decoded}");
}

fn make_movable(folder: &Path) {
    let config = folder.join(".cargo/config.toml");
    let pie = "model=pic\",\n    \"-Clink-arg=-pie\",\n    \"-Clink-arg=--no-dynamic-linker\"";
    replace(&config, "model=static\"", pie);
}

/// The kernel cannot know where it was linked, and the host does not know where it lies.
#[long]
fn a_stack_in_a_log_tells_how_far_its_image_was_moved() {
    let words = |folder: &Path| {
        let [main, exceptions] = ["main", "exceptions"].map(|name| format!("src/{name}.rs"));
        replace(&folder.join(main), "::print(", "::print_stack(");
        replace(
            &folder.join(exceptions),
            "::print_from(",
            "::print_stack_from(",
        );
    };
    let before = VECTORS.with(Profile::Debug, words).autopsy();
    let after = MOVED.with(Profile::Debug, |folder| {
        make_movable(folder);
        words(folder);
    });
    let text = after.autopsy();
    assert!(text.contains(", moved by 0x1000000, "), "{text}");
    assert!(text.contains("   0: 0x00000000412"), "{text}");
    assert!(text.contains("corner_shop::shop::serve"), "{text}");
    let unmoved = text.replace(", moved by 0x1000000", "");
    assert_eq!(without_folders(&unmoved), without_folders(&before));
}

/// A report without numbers, and without the folders where two kernels were built.
fn without_folders(text: &str) -> String {
    let folder = Regex::new(" at /[^ ]*/src/").expect("a pattern");
    without_numbers(&folder.replace_all(text, " at src/"))
}

/// A platform of one stack.
const PLATFORM: &str = "
    use postmortem::{Image, PerCpu, Platform, Postmortem, Range, Stack};
    pub static POSTMORTEM: Postmortem = Postmortem::new(&Kernel, &CPUS).with_dump(|| true);
    static CPUS: [PerCpu; 1] = [PerCpu::new()];
    unsafe extern \"C\" {
        static stack_start: u8;
        static stack_end: u8;
    }
    struct Kernel;
    // SAFETY: there is one CPU, and RAM where the stack is.
    unsafe impl Platform for Kernel {
        fn write(&self, text: &[u8]) { text.iter().copied().for_each(crate::serial::out) }
        fn leave(&self) -> ! { crate::exit() }
        fn image(&self) -> Image { postmortem::image!() }
        fn stack(&self, index: usize) -> Option<Stack> {
            let range = Range::new(&raw const stack_start as u64, &raw const stack_end as u64);
            (index == 0).then(|| Stack::new(\"boot\", 0, range))
        }
    }
";

#[long]
fn a_dump_that_a_moved_kernel_has_sent_says_what_its_report_says() {
    let shop = "
        #[inline(never)]
        pub fn serve(of: u64) {
            assert!(core::hint::black_box(of) == 0, \"sold out\");
        }
    ";
    let said = MOVED.with(Profile::Debug, |folder| {
        make_movable(folder);
        write_shop(folder, shop);
        let main = folder.join("src/main.rs");
        let print = "postmortem::print(&mut serial::Serial, info);\n    exit()";
        let report = "death::POSTMORTEM.panic(info, postmortem::capture())";
        replace(&main, print, report);
        replace(&main, "mod serial;", "mod death;\nmod serial;");
        let text = ".text : { *(.text.start) *(.text .text.*) } :all";
        let with_ends = format!("__text_start = .; {text} __text_end = .;");
        replace(&folder.join("kernel.ld"), text, &with_ends);
        std::fs::write(folder.join("src/death.rs"), PLATFORM).expect("a file can be written");
    });
    let text = said.autopsy();
    assert!(text.contains(", moved by 0x1000000"), "{text}");
    // The host names what is inlined first.
    let frames = |text: &str| {
        let lines = text.lines().filter_map(|line| line.get(..26));
        let frames = lines.filter(|line| &line[4..8] == ": 0x");
        frames.map(str::to_owned).collect::<Vec<_>>()
    };
    let sent = frames(&text);
    assert!(text.contains(" r corner_shop::shop::serve+"), "{text}");
    // `main` has no frame: it jumps to `serve`.
    assert!(sent.len() == 4, "{text}");
    assert_eq!(sent, frames(&said.text), "{text}\n{}", said.text);
}

/// The functions of all frames, without what is inlined.
fn named(text: &str) -> Vec<&str> {
    let frames = text.lines().filter_map(|line| line.split_once(": 0x"));
    let names = frames.filter_map(|(_, frame)| frame.get(16..)?.split('+').next());
    let names: Vec<_> = names.collect();
    assert!(names.len() > 2, "{text}");
    names
}
