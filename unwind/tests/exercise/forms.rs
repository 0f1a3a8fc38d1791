//! A walk in each form of a report: they tell the same frames, and never fail.

use std::fmt::Write;

use unwind::compact::{self, NARROWEST};
use unwind::markup::{self, Segment};
use unwind::report::{self, Backtrace, Text};
use unwind::{End, Event, Frame, Frames, Memory, RegisterSet, RowSource, Trace};

/// Writes the walk that found these frames and ended so.
pub fn all<R: RegisterSet, M: Memory + Clone, S: RowSource + Clone>(
    frames: Frames<'_, R, M, S>,
    found: &[Frame<R>],
    end: End,
    ends: (u32, u32),
) {
    let text = whole(&Backtrace::new(frames.clone(), None), found, end);
    in_place(frames.clone(), &text, end);
    let words = |out: &mut dyn Write, at: Option<u64>| write!(out, "trap at {at:x?}");
    let lines = |out: &mut dyn Write, _: Option<u64>| out.write_str("  one line\n");
    let report = Backtrace::new(frames.clone(), None)
        .trap_words(&words)
        .trap_lines(&lines);
    let text = whole(&report, found, end);
    assert_eq!(
        text.matches("trap at").count(),
        text.matches("  one line\n").count()
    );

    let mut text = String::new();
    let report = report.ends(ends.0, ends.1);
    assert_eq!(report.write(&mut text), Ok(end));
    assert!(lines_of_frames(&text) <= found.len(), "{text}");
    events(frames.clone(), found, end, None);
    events(frames, found, end, Some(ends));
    lines_alone(found, end);
}

/// The same without a copy of the walk, which a second time has only its end to tell.
fn in_place<R: RegisterSet, M: Memory + Clone, S: RowSource + Clone>(
    mut frames: Frames<'_, R, M, S>,
    whole: &str,
    end: End,
) {
    let mut text = String::new();
    assert_eq!(Text::new(None).write_all(&mut text, &mut frames), Ok(end));
    assert_eq!(text, whole);
    let mut events = 0;
    let told = frames.tell(&mut |event| {
        assert!(matches!(event, Event::End { .. }));
        events += 1;
        Ok(())
    });
    assert_eq!((told, events), (Ok(end), 1));
}

/// How many lines of frames there are.
fn lines_of_frames(text: &str) -> usize {
    text.lines().filter(|line| line.contains(": 0x")).count()
}

/// A report of all frames.
fn whole<R: RegisterSet>(
    report: &(impl std::fmt::Display + Clone),
    found: &[Frame<R>],
    end: End,
) -> String {
    let text = report.to_string();
    assert!(lines_of_frames(&text) >= found.len());
    let last = text.lines().last().expect("there is an end line");
    assert!(last.starts_with("end of backtrace: "), "{last}");
    assert_eq!(last.contains(": complete,"), end == End::Complete);
    assert_eq!(end.is_complete(), end == End::Complete);
    text
}

/// The events, written in two forms. What is left out is counted.
fn events<R: RegisterSet, M: Memory + Clone, S: RowSource + Clone>(
    frames: Frames<'_, R, M, S>,
    found: &[Frame<R>],
    end: End,
    ends: Option<(u32, u32)>,
) {
    let mut trace = Trace::new(frames);
    if let Some((first, last)) = ends {
        trace = trace.ends(first, last);
    }
    let text = Text::new(None)
        .symbols_at(&|_| None)
        .trap_words(&|out, _| out.write_str("a trap"))
        .trap_lines(&|_, _| Ok(()));
    let (mut next, mut ended) = (0, false);
    let told = trace.tell(&mut |event| {
        let (mut plain, mut marked) = (String::new(), String::new());
        text.write(&mut plain, event)?;
        markup::write(&mut marked, &text, event)?;
        assert!(plain.ends_with('\n') && marked.ends_with('\n'));
        assert_eq!(plain == marked, !matches!(event, Event::Frame(..)));
        narrow(&text, event, &plain)?;
        match *event {
            Event::Frame(number, frame) => {
                assert_eq!((number as usize, Some(frame)), (next, found.get(next)));
                next += 1;
            }
            Event::LeftOut(count) => next += count as usize,
            Event::End { count, .. } => {
                assert_eq!((count as usize, next), (found.len(), found.len()));
                ended = true;
            }
            _ => {}
        }
        Ok(())
    });
    assert_eq!((told, ended), (Ok(end), true));
}

/// The event in lines of some widths. None is longer, and a verdict is whole.
fn narrow<R: RegisterSet>(text: &Text<'_>, event: &Event<'_, R>, plain: &str) -> std::fmt::Result {
    for width in [0, NARROWEST, 64, usize::MAX] {
        let mut narrow = String::new();
        compact::write(&mut narrow, text, event, width)?;
        match event {
            Event::End { .. } => assert_eq!(narrow, plain),
            Event::Frame(number, frame) => assert_eq!(
                narrow,
                format!("{number:>3} {} {:#x}\n", frame.letter(), frame.pc)
            ),
            _ => assert!(
                narrow
                    .lines()
                    .all(|line| line.len() <= width.max(NARROWEST))
            ),
        }
    }
    Ok(())
}

/// The functions that write one line.
fn lines_alone<R: RegisterSet>(found: &[Frame<R>], end: End) {
    let mut text = String::new();
    for (number, frame) in (0..).zip(found) {
        text.clear();
        report::write_frame(&mut text, number, frame, None).expect("a String takes all");
        assert!(text.ends_with(frame.letter()), "{text}");
    }
    text.clear();
    report::write_end(&mut text, end, None, 1).expect("a String takes all");
    assert!(
        text.starts_with("end of backtrace: ") && text.ends_with(" frames\n")
            || text.ends_with(" frame\n"),
        "{text}"
    );
    let segments: Vec<_> = found
        .iter()
        .map(|frame| Segment {
            start: frame.pc,
            size: frame.cfa.unwrap_or(u64::MAX),
            access: "rx",
            file_address: frame.lookup_pc(),
        })
        .collect();
    let id: Vec<u8> = found.iter().map(|frame| frame.pc as u8).collect();
    text.clear();
    markup::write_context(&mut text, "image", &id, &segments).expect("a String takes all");
    assert_eq!(text.lines().count(), 2 + segments.len());
    let mut digits = String::new();
    report::write_bytes(&mut digits, &id).expect("a String takes all");
    assert!(digits.len() == 2 * id.len() && text.contains(&digits));
}
