//! The file format of speedscope: <https://www.speedscope.app/file-format-schema.json>.

use anyhow::Result;
use serde::Serialize;

use super::names::{Frame, Named};
use crate::machine::INSTRUCTIONS;

/// How long an instruction takes, in nanoseconds of the machine's own time.
const INSTRUCTION: u64 = 1_000_000_000 / INSTRUCTIONS;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    name: &'a str,
    exporter: &'a str,
    shared: Shared<'a>,
    profiles: [Profile<'a>; 1],
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Shown<'a>>,
}

/// Frames with other lines are other frames, for speedscope: it tells them apart by their numbers.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'a> {
    r#type: &'a str,
    name: &'a str,
    unit: &'a str,
    start_value: u64,
    end_value: u64,
    samples: Vec<&'a [usize]>,
    weights: Vec<u64>,
}

/// The file: each sample stands for the time that `every` instructions take.
pub(super) fn bytes(named: &Named, every: u64, of: &str) -> Result<Vec<u8>> {
    let time = |samples: usize| samples as u64 * every * INSTRUCTION;
    // What stays as it is, is one entry: a hang would fill the file.
    let runs = || named.order.chunk_by(|stack, next| stack == next);
    let profile = Profile {
        r#type: "sampled",
        name: of,
        unit: "nanoseconds",
        start_value: 0,
        end_value: time(named.order.len()),
        samples: runs().map(|run| &named.stacks[run[0]][..]).collect(),
        weights: runs().map(|run| time(run.len())).collect(),
    };
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: of,
        exporter: concat!("unwind-qemu ", env!("CARGO_PKG_VERSION")),
        shared: Shared {
            frames: named.frames.iter().map(shown).collect(),
        },
        profiles: [profile],
    };
    Ok(serde_json::to_vec(&file)?)
}

fn shown(frame: &Frame) -> Shown<'_> {
    let place = frame.place.as_ref();
    let line = place.map(|(_, line)| *line);
    Shown {
        name: &frame.name,
        file: place.map(|(file, _)| file.as_str()),
        line: line.filter(|line| *line > 0),
    }
}
