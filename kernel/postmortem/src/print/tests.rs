//! Reports of memory that is made up, with tables whose rows are written out byte by byte.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::regions::Regions;
use unwind::ImageTables;
use unwind::Range;

use super::{BEGUN, Begin, Report, print_from, print_no_more};
use crate::image::{Image, Section};
use crate::x86_64::Registers;

/// An entry function at 0x1000; trap code at 0x1010, whose rows lead to what the processor has pushed; and at 0x1020 the
/// handler that it calls, which pushes nothing.
pub(crate) static TABLE: [u8; 134] = [
    0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 3, 0, 0, 0, 3, 0, 0, 0, 58, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0,
    0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 7, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 20, 0, 0, 0, //
    1, 0, 0, 0, 0, 0, 0, //
    1, 0, 0x80, 1, 0, 0, 0x0d, 0x3b, 24, 0x3b, 0, 0x3b, 32, //
    1, 0, 0, 0, 0, 0, 3, 8, 0, 0, //
    0, 0, 0, 0, b'S', b'F', b'P', b'F', 0, 0x20, 0, 0, 0, 0, 0, 0, b'S', b'L', b'N', b'K', //
    0x34, 0xde, 0x5d, 0xdb, b'S', b'F', b'C', b'K',
];

/// The trap code calls the handler.
pub(crate) static CODE: [u8; 0x30] = {
    let mut code = [0; 0x30];
    (code[0x13], code[0x14]) = (0xe8, 8);
    code
};

/// The handler's return address; what the processor pushed (rip, cs, rflags, rsp), and rbp.
const WORDS: [(u64, u64); 6] = [
    (0x8000, 0x1018),
    (0x8008, 0x1004),
    (0x8010, 8),
    (0x8018, 2),
    (0x8020, 0x8030),
    (0x8028, 0x77),
];

/// The report of the handler, and the addresses that it has read. Memory has these words.
fn report(words: &[(u64, u64)], stack: Option<Range>) -> (String, Vec<u64>) {
    report_from(words, stack, Begin::Here)
}

fn report_from(words: &[(u64, u64)], stack: Option<Range>, begin: Begin) -> (String, Vec<u64>) {
    written(words, stack, &CODE, &|report, out| {
        report.write(out, &Registers::new(0x1024, 0x8000, 0), begin)
    })
}

/// What `write` writes of such a report, and the addresses that it has read.
fn written(
    words: &[(u64, u64)],
    stack: Option<Range>,
    code: &'static [u8],
    write: &dyn Fn(&mut Report<'_>, &mut String) -> fmt::Result,
) -> (String, Vec<u64>) {
    let words: BTreeMap<_, _> = words.iter().copied().collect();
    let read = RefCell::new(Vec::new());
    let names = Section::new(&[]);
    let code = Section {
        bytes: code,
        address: 0x1000,
    };
    let mut report = Report {
        image: Image {
            code,
            tables: ImageTables::new(&TABLE, 0x2000),
            symbols: names,
            build_id: &[],
        },
        regions: Regions::one(code),
        modules: None,
        read: &|address| {
            read.borrow_mut().push(address);
            words.get(&address).copied()
        },
        stack_of: &|sp| stack.filter(|stack| stack.holds_stack_pointer(sp)),
    };
    let mut out = String::new();
    let _guard = ONE_REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    write(&mut report, &mut out).expect("a string takes everything");
    (out, read.into_inner())
}

/// Says something, and fails: its handler reports it.
struct Broken<'a>(&'a str, Option<&'a Self>);

impl fmt::Display for Broken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        if let Some(next) = self.1 {
            let mut out = String::new();
            print_from(&mut out, next, Registers::new(0, 0, 0));
            write!(f, " [{out}]")?;
        }
        Ok(())
    }
}

/// Held while a test writes a report: it counts for all threads, and has what another test has stopped.
pub(super) static ONE_REPORT: Mutex<()> = Mutex::new(());

#[test]
fn after_the_last_line_nothing_is_written() {
    let _guard = ONE_REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    let said = |what: &Broken<'_>| {
        let mut out = String::new();
        print_from(&mut out, what, Registers::new(0, 0, 0));
        out
    };
    let word = Broken("word", None);
    assert!(said(&word).starts_with("word\n"));
    print_no_more();
    let after = [said(&word), said(&Broken("first", Some(&word)))];
    BEGUN.some_more();
    assert_eq!(after, ["", ""]);
}

/// Nothing is known on the host, but that is said; and afterwards there is a whole report again.
#[test]
fn a_failure_in_the_report_is_one_line_and_another_one_none() {
    let _guard = ONE_REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    let innermost = Broken("third", None);
    let second = Broken("second", Some(&innermost));
    let first = Broken("first", Some(&second));
    for _ in 0..2 {
        let mut out = String::new();
        print_from(&mut out, &first, Registers::new(0x1024, 0x8000, 0));
        let expected = "first [during the report: second []\n]\n\
            no stack is readable, because stacks_by was not called and the program runs under an operating system\n\
            x86_64, no build id, no tables\n  \
            rip 0x0000000000001024  rsp 0x0000000000008000  rbp 0x0000000000000000, others not known\n\
            no function names, because .symbols cannot be used: empty\n   \
            0: 0x0000000000001024 p\n\
            end of backtrace: incomplete: no .sframe table: empty, 1 frames\n";
        assert_eq!(out, expected);
    }
}

/// All that comes before the verdict.
const FRAMES: &str = "\
x86_64, no build id, tables verified, code not compared
  rip 0x0000000000001024  rsp 0x0000000000008000  rbp 0x0000000000000000, others not known
no function names, because .symbols cannot be used: empty
   0: 0x0000000000001024 p
   1: 0x0000000000001018 r
   ----- interrupted -----
  rip 0x0000000000001004  rsp 0x0000000000008030  rbp 0x0000000000000077, others not known
  code: 00 00 00 00 <00> 00 00 00 00 00 00 00 00 00 00 00 00 00 00 e8
   2: 0x0000000000001004 p
";

#[test]
fn a_report_says_what_it_knows_of_the_base() {
    let (text, _) = report(&WORDS, None);
    let end = "end of backtrace: outermost function reached, from frame 2 on in doubt (it is unknown whether the stack begins at address 0x0000000000008030), 3 frames\n";
    assert_eq!(text, [FRAMES, end].concat());
    let (text, _) = report(&WORDS, Some(Range::new(0x7000, 0x8030)));
    assert_eq!(
        text,
        [FRAMES, "end of backtrace: complete, 3 frames\n"].concat()
    );
    let (text, _) = report(&WORDS, Some(Range::new(0x7000, 0x9000)));
    let end = "end of backtrace: incomplete: outermost function reached, but its stack pointer 0x0000000000008030 is not the upper end of a declared stack, 3 frames\n";
    assert_eq!(text, [FRAMES, end].concat());
}

#[test]
fn a_report_may_begin_where_the_handler_has_interrupted() {
    let stack = Some(Range::new(0x7000, 0x8030));
    let (whole, _) = report(&WORDS, stack);
    let (text, _) = report_from(&WORDS, stack, Begin::Interrupted);
    let lines: Vec<_> = whole.lines().collect();
    let [machine, _, names, _, _, interrupted @ ..] = &lines[..] else {
        panic!("{whole}");
    };
    let left_out = "   ----- 2 frames left out -----";
    let expected = [&[*machine, *names, left_out], interrupted].concat();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    // Where the walk does not come there, all is written.
    let without = &WORDS[1..];
    assert_eq!(
        report_from(without, stack, Begin::Interrupted).0,
        report(without, stack).0
    );
}

/// The list of a stopped CPU begins with what the walk through its handler has found.
#[test]
fn the_list_of_a_stopped_cpu_is_in_doubt_if_the_walk_to_its_start_is() {
    /// The trap code calls the outermost function, not the handler, and that function ends.
    static ELSEWHERE: [u8; 0x30] = {
        let mut code = CODE;
        code[0xf] = 0xc3;
        [code[0x14], code[0x15], code[0x16], code[0x17]] = (-0x18_i32).to_le_bytes();
        code
    };
    let stack = Some(Range::new(0x7000, 0x8030));
    let list = |code| {
        let (text, _) = written(&WORDS, stack, code, &|report, out| {
            let head = |out: &mut dyn fmt::Write, pc| writeln!(out, "stopped at {pc:#x}");
            let registers = Registers::new(0x1024, 0x8000, 0);
            report.write_callers(out, &registers, Begin::Interrupted, Some(&head))
        });
        text
    };
    let head = "stopped at 0x1004\nno function names, because .symbols cannot be used: empty\n   0: 0x0000000000001004 p\n";
    let complete = "end of backtrace: complete, 1 frames\n";
    assert_eq!(list(&CODE), [head, complete].concat());
    let in_doubt = "end of backtrace: outermost function reached, from frame 0 on in doubt \
                    (this backtrace continues an earlier backtrace that is uncertain), 1 frames\n";
    assert_eq!(list(&ELSEWHERE), [head, in_doubt].concat());
}

#[test]
fn what_cannot_be_read_ends_the_trace() {
    for gone in 0..WORDS.len() {
        let mut words = WORDS.to_vec();
        let (address, _) = words.remove(gone);
        let (text, read) = report(&words, None);
        // The processor's code segment tells user code, but is not needed for a walk. Its flags are of no use.
        let is_needed = !matches!(address, 0x8010 | 0x8018);
        assert_eq!(read.contains(&address), address != 0x8018, "{text}");
        let end = format!("incomplete: the stack word at address {address:#018x} cannot be read, ");
        assert_eq!(text.contains(&end), is_needed, "{text}");
    }
}

/// Whatever a word is, the report ends, claims nothing that is wrong, and reads nothing but words above its stack pointer, and above what a
/// damaged trap frame has as one.
#[test]
fn a_damaged_stack_leads_nowhere_else() {
    let values = [
        0,
        1,
        0x1004,
        0x1018,
        0x1024,
        0x7ff8,
        0x8000,
        0x8004,
        0x8008,
        0xfee0_0000,
        0xffff_8000_0000_0000,
        u64::MAX,
        u64::MAX - 7,
    ];
    let known = Range::new(0x7000, 0x8030);
    let mut are_complete = Vec::new();
    for (damaged, value) in (0..WORDS.len()).flat_map(|at| values.map(|value| (at, value))) {
        let mut words = WORDS;
        words[damaged].1 = value;
        for stack in [None, Some(known)] {
            let (text, read) = report(&words, stack);
            assert_eq!(text.matches("end of backtrace: ").count(), 1, "{text}");
            assert!(read.len() < 32, "{} reads:\n{text}", read.len());
            for address in read {
                let near = |sp: u64| address >= sp && address - sp < 1 << 20;
                let own = stack.map_or(near(0x8000), |stack| stack.holds(address, 8));
                assert!(own || near(value), "{address:#x}:\n{text}");
                assert!(address.is_multiple_of(8), "{address:#x}:\n{text}");
            }
            let is_complete = text.contains("end of backtrace: complete");
            if is_complete {
                // The truth, whatever registers it shows.
                let pcs = text.lines().filter(|line| line.get(4..8) == Some(": 0x"));
                let pcs: Vec<_> = pcs.map(|line| &line[6..24]).collect();
                let truth = [0x1024, 0x1018, 0x1004].map(|pc| format!("{pc:#018x}"));
                assert_eq!(pcs, truth, "{text}");
            }
            are_complete.push((stack.is_some(), is_complete));
        }
    }
    // Some words are of no importance on a stack that is known; on another nothing is complete.
    for (combination, expected) in [
        ((false, false), true),
        ((false, true), false),
        ((true, false), true),
        ((true, true), true),
    ] {
        assert_eq!(
            are_complete.contains(&combination),
            expected,
            "{combination:?}"
        );
    }
}

/// On the stack of the kernel that the processor goes to from user code.
#[test]
fn a_report_ends_at_user_code() {
    let mut words = WORDS;
    (words[1].1, words[2].1) = (0x40_1004, 0x23);
    let (text, _) = report(&words, Some(Range::new(0x7000, 0x8030 + 8)));
    let end =
        "   2: 0x0000000000401004 p\nend of backtrace: user code reached at 0x0000000000401004, ";
    let doubt = "from frame 2 on in doubt (the trap frame of user code ends at address 0x0000000000008030, which is not the upper end of a declared stack), 3 frames\n";
    assert!(text.ends_with(&[end, doubt].concat()), "{text}");
    let (text, _) = report(&words, Some(Range::new(0x7000, 0x8030)));
    let complete = "complete for the kernel, 3 frames\n";
    assert!(text.ends_with(&[end, complete].concat()), "{text}");
    let (text, _) = report_from(&words, None, Begin::Interrupted);
    let (_, doubt) = text.split_once(end).expect(&text);
    assert!(
        doubt.contains("it is unknown whether the stack begins at address 0x0000000000008030"),
        "{text}"
    );
}
