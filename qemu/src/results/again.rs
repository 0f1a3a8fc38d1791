//! What of a failed boot's serial line is shown again, decoded: all but the lists to which decoding adds nothing but longer paths.

use std::ops::Range;

use crate::report::{Line, Source};

/// A list of callers in a text, from frame 0 to the verdict.
struct List<'t> {
    /// Its lines.
    lines: Range<usize>,
    /// The name and the line of each frame, and of each function that one is inlined into.
    sources: Vec<(Part, Option<&'t str>, Option<u32>)>,
    /// The last line.
    end: &'t str,
}

/// A line of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Frame(u64),
    Inlined,
    Other,
}

/// The decoded serial line without the lists that standard output has as well. `shown` is the serial line as it was shown.
pub(super) fn without_shown(decoded: &str, shown: &str) -> String {
    let (mut lists, shown) = (lists(decoded), lists(shown));
    if lists.len() == shown.len() {
        let mut shown = shown.iter();
        lists.retain(|list| shown.next().is_some_and(|shown| shown.is(list)));
    } else {
        // It is not known which is which.
        lists.clear();
    }
    let mut lists = lists.into_iter().peekable();
    let mut text = String::new();
    for (number, line) in decoded.lines().enumerate() {
        if let Some(list) = lists.peek()
            && list.lines.contains(&number)
        {
            if number + 1 == list.lines.end {
                text += "   (the backtrace is on standard output)\n";
                text += list.end;
                text += "\n";
                lists.next();
            }
            continue;
        }
        text += line;
        text += "\n";
    }
    text
}

impl List<'_> {
    /// Whether both have the same frames, with the same names and lines.
    fn is(&self, other: &Self) -> bool {
        self.sources == other.sources && self.end == other.end
    }
}

/// The lists in a text that no other line interrupts.
fn lists(text: &str) -> Vec<List<'_>> {
    let (mut found, mut open) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        let (part, source) = match Line::parse(line) {
            Some((_, Line::End(_))) => {
                let list = open.take().map(|(first, sources)| List {
                    lines: first..number + 1,
                    sources,
                    end: line,
                });
                found.extend(list);
                continue;
            }
            Some((_, Line::Frame(frame))) => {
                if frame.number.trim() == "0" {
                    open = Some((number, Vec::new()));
                }
                let source = frame.named.map(|named| named.source);
                (Part::Frame(frame.address), source)
            }
            Some((_, Line::Inlined(source))) => (Part::Inlined, Some(source)),
            // Decoding changes none of these.
            Some(_) => (Part::Other, None),
            None => {
                open = None;
                continue;
            }
        };
        if let Some((_, sources)) = &mut open {
            let name = source.as_ref().map(|source| source.name);
            sources.push((part, name, source.and_then(line_of)));
        }
    }
    found
}

fn line_of(source: Source<'_>) -> Option<u32> {
    source.place.map(|(_, line)| line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &str = "end of backtrace: complete, 2 frames\n";

    fn report(first: &str, last: &str) -> String {
        format!(
            "panicked at main.c:3: no\n   0: 0x0000000000100010 p{first}\n   1: 0x0000000000100020 r{last}\n{END}first failure: no\n"
        )
    }

    #[test]
    fn only_a_list_with_more_names_or_lines_is_shown_again() {
        let (first, last) = (
            " g+0x4/0x9 at lib.h:1\n        inlined into f at main.c:3",
            " start+0x8",
        );
        let decoded = report(
            " g+0x4/0x9 at /k/lib.h:1\n        inlined into f at /k/main.c:3",
            last,
        );
        let again = format!(
            "panicked at main.c:3: no\n   (the backtrace is on standard output)\n{END}first failure: no\n"
        );
        assert_eq!(without_shown(&decoded, &report(first, last)), again);
        assert_eq!(without_shown(&decoded, &decoded), again);
        for (first, last) in [
            ("", last),
            (" f+0x4/0x9 at main.c:3", last),
            (" g+0x4/0x9\n        inlined into f at main.c:3", last),
            (first, ""),
        ] {
            assert_eq!(without_shown(&decoded, &report(first, last)), decoded);
        }
        // Another line is in it; two lists for one.
        let interrupted = decoded.replace("   1: ", "tick\n   1: ");
        assert_eq!(without_shown(&interrupted, &interrupted), interrupted);
        assert_eq!(without_shown(&decoded, &decoded.repeat(2)), decoded);
    }
}
