//! All boots as a JUnit file: a suite for each architecture and profile, a test case for each scenario.

use anstream::adapter::strip_str;
use anyhow::{Context, Result};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::Ran;
use crate::status::Status;

pub(super) fn report(ran: &[Ran]) -> Result<String> {
    let mut report = Report::new("boots");
    report.set_time(ran.iter().map(|ran| ran.took).sum());
    let mut places: Vec<String> = Vec::new();
    for ran in ran {
        let place = ran.subject.place();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for place in places {
        let mut suite = TestSuite::new(place.clone());
        let of_suite = || ran.iter().filter(|ran| ran.subject.place() == place);
        suite.set_time(of_suite().map(|ran| ran.took).sum());
        suite.add_test_cases(of_suite().map(|ran| case(ran, &place)));
        report.add_test_suite(suite);
    }
    report.to_string().context("cannot create the JUnit file")
}

fn case(ran: &Ran, place: &str) -> TestCase {
    let (status, words) = (ran.judgement.status, &ran.judgement.words);
    let status = match status {
        Status::Success => TestCaseStatus::success(),
        _ => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(xml(words));
            status
        }
    };
    let mut case = TestCase::new(xml(&ran.subject.name), status);
    case.set_classname(xml(place));
    case.set_time(ran.took);
    case.set_system_out(xml(&String::from_utf8_lossy(&ran.serial)));
    if !ran.asked.is_empty() {
        case.set_system_err(xml(&ran.asked.join("\n")));
    }
    case
}

/// The text with a mark in place of each character that XML does not have ("Extensible Markup Language (XML) 1.0", 2.2): one
/// would make the file unreadable, with the results of all boots. Colours are left out.
fn xml(text: &str) -> String {
    let is_known = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let text = strip_str(text).to_string();
    text.chars()
        .map(|c| {
            if is_known(c) {
                c
            } else {
                char::REPLACEMENT_CHARACTER
            }
        })
        .collect()
}
