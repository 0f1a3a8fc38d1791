//! A JSON object for each boot, one a line.

use anyhow::Result;
use serde::Serialize;

use super::Ran;

/// Fields are only ever added.
#[derive(Serialize)]
struct Line<'a> {
    scenario: &'a str,
    arch: &'a str,
    board: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a str>,
    /// The runner's exit status if this were the only boot.
    status: u8,
    /// Why, in words.
    words: &'a str,
    seconds: f64,
    /// The file with the serial line; null if it could not be written.
    log: Option<String>,
    /// Where the CPUs were, each time that the machine was asked.
    asked: &'a [String],
}

pub(super) fn lines(ran: &[Ran]) -> Result<String> {
    let mut text = String::new();
    for ran in ran {
        let line = Line {
            scenario: &ran.subject.name,
            arch: ran.subject.board.processor().name(),
            board: ran.subject.board.name(),
            profile: ran.subject.profile,
            status: ran.judgement.status as u8,
            words: &ran.judgement.words,
            seconds: ran.took.as_secs_f64(),
            log: ran.log.as_ref().map(|log| log.display().to_string()),
            asked: &ran.asked,
        };
        text += &serde_json::to_string(&line)?;
        text += "\n";
    }
    Ok(text)
}
