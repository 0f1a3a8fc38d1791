//! Compares what a board has written with what QEMU has written for the same image and command line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::heard::{Heard, List, frame, is_running_task};
use super::parts::{Differs, Part, SCREEN, Sent};
use super::talk::LAST_LINE;
use crate::report::Line;

/// What came of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// The board has written what QEMU has.
    Equal,
    /// The board has written something else, and every line of it is whole.
    Different,
    /// Bytes were lost or changed on the line, so nothing is known.
    Damaged,
    /// Nothing came.
    NothingCame,
    /// It was not tried.
    NotTried,
}

impl Verdict {
    /// The words in the table.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Different => "different",
            Self::Damaged => "damaged",
            Self::NothingCame => "nothing came",
            Self::NotTried => "not tried",
        }
    }
}

/// A verdict, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    pub(super) why: String,
}

impl Judged {
    pub(super) fn new(verdict: Verdict, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { verdict, why }
    }
}

/// Damaged lines that are shown; the file has all of them.
const MAX_SHOWN: usize = 3;

/// Compares the two. `expected` has no damaged line.
pub(super) fn compare(part: &Part, expected: &Heard, heard: &Heard) -> Judged {
    if !heard.damaged.is_empty() {
        let count = heard.damaged.len();
        let lines = if count == 1 { "line" } else { "lines" };
        let mut why = format!("{count} incomplete {lines}:");
        for line in heard.damaged.iter().take(MAX_SHOWN) {
            why += &format!("\n    {}", linker::symbols::printable(line));
        }
        return Judged::new(Verdict::Damaged, why);
    }
    match difference(part, expected, heard) {
        Some((expected, got)) => {
            let why = format!(
                "first line that differs from QEMU's output:\n    expected  {expected}\n    got       {got}"
            );
            Judged::new(Verdict::Different, why)
        }
        None => Judged::new(Verdict::Equal, summary(heard)),
    }
}

/// What is equal, in words.
fn summary(heard: &Heard) -> String {
    let ends = heard.lists.iter().filter_map(|list| list.lines.last());
    let first = { ends }
        .next()
        .map(|line| line.trim_start_matches("end of backtrace: "));
    match (heard.lists.len(), first) {
        (0, _) => format!("{} lines", heard.lines.len()),
        (1, Some(end)) => end.to_owned(),
        (count, end) => format!(
            "the first backtrace ({last_line}) and the {others} other backtraces match QEMU's output",
            last_line = end.unwrap_or_default(),
            others = count - 1
        ),
    }
}

/// Returns the first difference: the expected line and the line that came.
fn difference(part: &Part, expected: &Heard, heard: &Heard) -> Option<(String, String)> {
    const NOTHING: &str = "(nothing)";
    let none = List::default();
    let [one, other] = [expected, heard].map(|heard| heard.lists.first().unwrap_or(&none));
    let lines = |list: &List| -> Vec<(String, String)> {
        let all = std::iter::once(&list.subject).chain(&list.lines);
        all.map(|line| (compared(part, line), line.clone()))
            .collect()
    };
    let (one, other) = (lines(one), lines(other));
    for at in 0..one.len().max(other.len()) {
        if one.get(at).map(|line| &line.0) != other.get(at).map(|line| &line.0) {
            let [one, other] = [&one, &other].map(|lines| {
                let line = lines.get(at).map(|line| line.1.clone());
                line.unwrap_or_else(|| NOTHING.to_owned())
            });
            return Some((one, other));
        }
    }
    let [one, other] = [expected, heard].map(|heard| others(part, heard));
    for (key, (line, words)) in &one {
        match other.get(key) {
            None => return Some((line.clone(), NOTHING.to_owned())),
            // Whether a task runs at that moment differs from boot to boot, and only a task that does not run has a list.
            Some((other, _)) if is_running_task(line) || is_running_task(other) => {}
            Some((other, got)) if got != words => {
                let shown = |line: &str, words: &str| format!("{line}: {words}");
                return Some((shown(line, words), shown(other, got)));
            }
            Some(_) => {}
        }
    }
    let mut more = other.iter().filter(|(key, _)| !one.contains_key(*key));
    if let Some((_, (line, _))) = more.next() {
        return Some((NOTHING.to_owned(), line.clone()));
    }
    let is_reset_expected = matches!(part.sent, Sent::Monitor);
    (is_reset_expected && !heard.is_reset).then(|| {
        let words = "the kernel's first line after the command `reboot`";
        (words.to_owned(), NOTHING.to_owned())
    })
}

/// A line, and the last words of the list that it begins, by what the line is about.
type Others = BTreeMap<String, (String, String)>;

/// Returns the lists after the first one, and the other lines: what each is about, with its line and a list's last words. The frames of
/// these lists depend on where another CPU or a task was at that moment.
fn others(part: &Part, heard: &Heard) -> Others {
    let lists = heard.lists.iter().skip(1).map(|list| {
        let words = list
            .end
            .clone()
            .unwrap_or_else(|| "no last words".to_owned());
        (about(&list.subject), (list.subject.clone(), words))
    });
    let lines = heard.lines.iter().map(|line| {
        let key = match line.starts_with("task ") {
            true => about(line),
            false => compared(part, line),
        };
        (key, (line.clone(), String::new()))
    });
    lists.chain(lines).collect()
}

/// Returns what a list is about: a CPU or a task.
fn about(subject: &str) -> String {
    let end = subject.find([',', ':']);
    subject[..end.unwrap_or(subject.len())].to_owned()
}

/// Returns what of a line does not differ from one boot of the same kernel to the next.
fn compared(part: &Part, line: &str) -> String {
    let differs = part.differs == Differs::Interrupted;
    match Line::parse(line).and_then(|_| frame(line)) {
        Some(frame) if differs && frame.letter == 'p' => {
            let name = frame.named.map_or("", |named| named.source.name);
            format!("{} p {name}", frame.number)
        }
        None if differs && (line.starts_with("hang ") || line.starts_with(LAST_LINE)) => {
            let end = line.rfind(", cpu ");
            line[..end.unwrap_or(line.len())].to_owned()
        }
        _ => line.to_owned(),
    }
}

/// Whether the user is asked about a part, because only eyes can tell.
pub(super) fn wants_eyes(part: &Part) -> bool {
    part.name == SCREEN
}
