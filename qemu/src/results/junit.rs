//! All boots as a JUnit file: a suite for each architecture and profile, a test case for each scenario.

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
    report.to_string().context("cannot make the JUnit file")
}

fn case(ran: &Ran, place: &str) -> TestCase {
    let (status, words) = (ran.judgement.status, &ran.judgement.words);
    let status = match status {
        Status::Success => TestCaseStatus::success(),
        _ => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(words.clone());
            status
        }
    };
    let mut case = TestCase::new(ran.subject.name.clone(), status);
    case.set_classname(place.to_owned());
    case.set_time(ran.took);
    case.set_system_out_lossy(&ran.serial);
    case
}
