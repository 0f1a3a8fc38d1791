//! Writes text that a CI system shows folded.

use std::io::{IsTerminal, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Rules, filtered};

/// Writes `text` to standard error, in a fold if the CI system has folds.
pub fn show(title: &str, text: &str) {
    let mut error = std::io::stderr().lock();
    let text = filtered(text, Rules::new(error.is_terminal(), false));
    let is_set = |name| std::env::var_os(name).is_some_and(|value| value == "true");
    let (begin, end) = if is_set("GITHUB_ACTIONS") {
        (format!("::group::{title}\n"), "::endgroup::\n".to_owned())
    } else if is_set("GITLAB_CI") {
        gitlab(title)
    } else {
        (format!("runner: {title}\n"), String::new())
    };
    // A closed standard error is ignored.
    let _ = error.write_all(format!("{begin}{text}{end}").as_bytes());
}

/// GitLab's documentation, "Job logs", "Custom collapsible sections".
fn gitlab(title: &str) -> (String, String) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    let name: String = title.chars().filter(char::is_ascii_alphanumeric).collect();
    (
        format!("\x1b[0Ksection_start:{now}:{name}[collapsed=true]\r\x1b[0K{title}\n"),
        format!("\x1b[0Ksection_end:{now}:{name}\r\x1b[0K\n"),
    )
}
