//! The file: a picture, lines, or what speedscope reads.

use std::path::Path;

use anyhow::{Context, Result, bail};
use inferno::flamegraph::{self, Options};

use super::names::Named;
use super::speedscope;

/// What the file is, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `.svg`: a flame graph, in which a browser can search and zoom.
    Svg,
    /// `.folded`: a line for each stack, with its count, for other programs.
    Folded,
    /// `.speedscope.json`: all samples in the order of time, with files and lines.
    Speedscope,
}

impl Form {
    /// The form of this file.
    ///
    /// # Errors
    /// When its name ends otherwise.
    pub fn of(file: &Path) -> Result<Self> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let ends = [
            (".speedscope.json", Self::Speedscope),
            (".svg", Self::Svg),
            (".folded", Self::Folded),
        ];
        let is = |end: &str| name.strip_suffix(end).is_some_and(|stem| !stem.is_empty());
        match ends.into_iter().find(|(end, _)| is(end)) {
            Some((_, form)) => Ok(form),
            None => bail!(
                "unknown profile format of {path}: expected .svg (a flame graph), .speedscope.json or .folded (lines)",
                path = file.display()
            ),
        }
    }

    /// The bytes of the file.
    ///
    /// There are `every` instructions to a sample, or the time of so many; samples count `unit`.
    pub(super) fn bytes(
        self,
        named: &Named,
        every: u64,
        unit: &str,
        of: &str,
        summary: &str,
    ) -> Result<Vec<u8>> {
        match self {
            Self::Folded => {
                let lines = named.lines().into_iter();
                Ok(lines.flat_map(|line| (line + "\n").into_bytes()).collect())
            }
            Self::Speedscope => speedscope::bytes(named, every, of),
            Self::Svg => draw(&named.lines(), unit, of, summary),
        }
    }
}

fn draw(lines: &[String], unit: &str, image: &str, summary: &str) -> Result<Vec<u8>> {
    let mut options = Options::default();
    options.title = format!("Profile of {image}, measured in {unit}");
    options.subtitle = Some(summary.to_owned());
    options.count_name = "samples".to_owned();
    // The same function has the same colour, in every picture.
    options.hash = true;
    options.deterministic = true;
    let lines = lines.iter().map(String::as_str);
    let mut bytes = Vec::new();
    flamegraph::from_lines(&mut options, lines, &mut bytes).context("cannot draw a flame graph")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use quick_xml::events::Event;

    use super::*;

    #[test]
    fn names_are_text_and_nothing_else() {
        let name = "<script>alert(1)</script>&\"'";
        let lines = [format!("{name};b 1")];
        let svg = draw(&lines, name, name, name).expect("it is drawn");
        let svg = String::from_utf8(svg).expect("it is text");
        assert!(!svg.contains("alert(1)</script>"), "{svg}");
        let mut reader = quick_xml::Reader::from_str(&svg);
        let mut scripts = 0;
        loop {
            match reader.read_event().expect("it is XML") {
                Event::Start(element) => scripts += u32::from(element.name().as_ref() == b"script"),
                Event::Eof => break,
                _ => {}
            }
        }
        // Inferno's own.
        assert_eq!(scripts, 1);
    }

    #[test]
    fn a_form_is_told_by_the_end_of_the_name() {
        let of = |name: &str| Form::of(Path::new(name)).ok();
        assert_eq!(of("a/b.svg"), Some(Form::Svg));
        assert_eq!(of("b.folded"), Some(Form::Folded));
        assert_eq!(of("b.speedscope.json"), Some(Form::Speedscope));
        assert_eq!((of("b.json"), of(".svg")), (None, None));
        assert_eq!((of("b.png"), of("svg"), of("")), (None, None, None));
    }
}
