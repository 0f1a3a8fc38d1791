//! Each page has what the report on the serial line has.

use qemu::machine::Arch;

use super::drawn::Picture;
use super::machine::{Machine, kernel};
use crate::support::boots::judge;

const KEYS: &str = "space: next page   p: previous page   j, k: down, up   enter: code   q: end";

/// Of a screen with 1024 pixels in a row.
const COLUMNS: usize = 128;

/// The rows of a page between its title and the row that says what keys do, without empty ones at the end.
#[track_caller]
fn body(picture: &Picture) -> Vec<String> {
    let mut rows = picture.lines();
    let keys = rows.pop().expect("there are rows");
    assert_eq!(keys.trim_start(), KEYS);
    rows.remove(0);
    while rows.pop_if(|row| row.is_empty()).is_some() {}
    rows
}

/// The rows that these lines take: what is too long goes on in the next row, indented by eight.
fn rows<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut rows = Vec::new();
    for line in lines {
        let characters: Vec<char> = line.chars().collect();
        let (first, rest) = characters.split_at(characters.len().min(COLUMNS));
        rows.push(first.iter().collect::<String>().trim_end().to_owned());
        for part in rest.chunks(COLUMNS - 8) {
            let part: String = part.iter().collect();
            rows.push(format!("        {part}").trim_end().to_owned());
        }
    }
    rows
}

/// The report on the serial line: of what failed, and of others.
fn parts(serial: &str) -> [Vec<&str>; 2] {
    let begin = serial
        .find("\nfault on cpu")
        .or_else(|| serial.find("\npanicked at"));
    let report = &serial[begin.expect("a report") + 1..];
    let lines: Vec<&str> = report.lines().map(str::trim_end).collect();
    let end = lines
        .iter()
        .position(|line| line.starts_with("end of backtrace: "));
    let (first, rest) = lines.split_at(end.expect("a verdict") + 1);
    let is_repeated = |line: &&&str| line.starts_with("first failure: ");
    let mut first = first.to_vec();
    first.extend(rest.iter().filter(is_repeated));
    let others = rest.iter().filter(|line| !is_repeated(line));
    [first, others.copied().collect()]
}

#[gate]
fn every_page_has_what_the_serial_line_has() {
    for arch in Arch::ALL {
        let mut machine = Machine::boot(kernel(arch), "deadlock", &["-smp", "2"]);
        let serial = machine.report();
        let [first, others] = parts(&serial);
        assert!(others.len() > 10, "{serial}");

        assert_eq!(
            body(&machine.page("1/3  what failed")),
            rows(first),
            "{arch}"
        );
        machine.type_in(" ");
        let page = machine.page("2/3  other CPUs and tasks");
        assert_eq!(body(&page), rows(others.clone()), "{arch}");

        // Down by two frames, by a letter and by an arrow; each is chosen by a color of its own.
        machine.type_in("j");
        let second = machine.other_colors_than(&page);
        machine.type_in("\x1b[B");
        let third = machine.other_colors_than(&second);

        machine.type_in("\r");
        let mut code =
            body(&machine.page("code around the frame's address, with the instruction in <>"));
        let last = code.pop().expect("a line of code");
        assert!(last.starts_with("code: ") && last.contains('<'), "{last}");
        // Where a CPU spins is a matter of the host, and may be a place in inlined code.
        let is_second = |line: &&&str| line.trim_start().starts_with("2: 0x");
        let is_of_it = |line: &&&str| line.trim_start().starts_with("inlined into ");
        let mut rest = others.iter().skip_while(|line| !is_second(line));
        let second = rest.next().into_iter();
        let frame = second.chain(rest.take_while(is_of_it));
        assert_eq!(code, rows(frame.copied()), "{arch}");

        machine.type_in(" ");
        machine.page("3/3  for a phone");
        machine.type_in("p");
        assert!(
            machine.page("2/3  other CPUs and tasks") == third,
            "the same frame is chosen"
        );
        machine.type_in("q");
        assert_eq!(machine.end().status, 101, "{arch}");
    }
}

/// An exception has registers and code on its first page. On a PC the keys are those of its keyboard.
#[gate]
fn a_keyboard_turns_the_pages() {
    let mut machine = Machine::boot(kernel(Arch::X86_64), "exception-in-handler", &[]);
    let serial = machine.report();
    let [first, others] = parts(&serial);
    assert_eq!(others, [""; 0]);
    let page = machine.page("1/2  what failed");
    let shown = body(&page);
    assert_eq!(shown, rows(first.clone()));
    assert!(
        shown.iter().any(|line| line.starts_with("  rax 0x")),
        "{shown:?}"
    );
    assert!(
        shown.iter().any(|line| line.starts_with("code: ")),
        "{shown:?}"
    );

    machine.press("down");
    let second = machine.other_colors_than(&page);
    machine.press("k");
    assert!(machine.other_colors_than(&second) == page, "up again");
    machine.press("spc");
    machine.page("2/2  for a phone");
    machine.press("left");
    machine.page("1/2  what failed");
    machine.press("ret");
    let code = body(&machine.page("code around the frame's address, with the instruction in <>"));
    // That of the innermost frame is in the report, too.
    let at = first
        .iter()
        .position(|line| line.starts_with("code: "))
        .expect("code");
    assert_eq!(code.last().map(String::as_str), Some(first[at]));
    machine.press("q");
    assert_eq!(machine.end().status, 101);
}

/// An independent reader reads the code off the screen: the first lines, and what `--compact` puts on the serial line.
#[gate]
fn a_phone_reads_the_compact_report() {
    for arch in Arch::ALL {
        let mut machine = Machine::boot(kernel(arch), "null-read", &[]);
        let serial = machine.report();
        machine.type_in("p");
        let code = machine.page("2/2  for a phone").qr();
        machine.type_in("q");
        machine.end();

        let compact = judge(super::machine::kernel(arch), "null-read compact:60");
        let compact = compact.expect(0).text();
        let lines = parts(&compact)[0].clone();
        let is_kept = |line: &&&str| {
            let is_register = line.starts_with("  ")
                && !line.trim_start().starts_with(|c: char| c.is_ascii_digit());
            !is_register && !line.starts_with("code: ") && !line.starts_with("first failure: ")
        };
        // Lines of inlined functions begin with spaces, too, and with "in".
        let is_inlined = |line: &&&str| line.starts_with("      in ");
        let expected: Vec<&str> = lines
            .iter()
            .filter(|line| is_kept(line) || is_inlined(line))
            .copied()
            .collect();
        assert_eq!(code.lines().collect::<Vec<_>>(), expected, "{arch}");
        assert!(
            code.lines()
                .skip(2)
                .all(|line| line.starts_with("end of ") || line.chars().count() <= 60),
            "{code}"
        );
        assert!(code.contains("null_read"), "{code}");
        // The same frames as in the long form.
        let count = |text: &str| {
            text.lines()
                .filter(|line| line.contains(" r ") || line.contains(" p "))
                .count()
        };
        assert_eq!(count(&code), count(&parts(&serial)[0].join("\n")), "{arch}");
    }
}
