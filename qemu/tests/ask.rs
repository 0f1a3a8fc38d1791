//! Machines that hang, and are asked where they are: the walk from outside.

#[path = "ask/asked.rs"]
mod asked;
#[path = "ask/foreign.rs"]
mod foreign;
#[path = "ask/hangs.rs"]
mod hangs;
mod support;

use std::time::Duration;

use asked::Asked;
use support::built::{image, kernel};
use support::runner::run;
use support::session::Session;

/// It goes on as if nothing had been, and can be asked again.
#[test]
fn a_machine_that_was_asked_goes_on() {
    for name in ["x86_64_release", "aarch64_release"] {
        let image = image(kernel(name));
        let arguments = ["--ask", "0.2", "--ask", "1.5", "--ask", "1.6"];
        let mut session = Session::start(&image, "monitor", &arguments);
        session.wait_for("\n> ");
        std::thread::sleep(Duration::from_secs(2));
        let answer = session.command("help");
        assert!(answer.contains("lists the commands"), "{answer}");
        session.press("\x1d");
        let ran = session.end();
        let asked = Asked::of(ran);
        assert_eq!(asked.times(), 3, "{}", asked.text);
        let last = asked.reports.last().expect("it is up by then");
        last.expect_complete();
        assert_eq!(last.names().last(), Some(&"kernel_entry"), "{}", asked.text);
    }
}

/// Who runs a scenario that ends with a verdict hears nothing of all this.
#[test]
fn a_machine_that_ends_is_not_asked() {
    let image = image(kernel("x86_64_release"));
    let image = image.to_str().expect("a path in UTF-8");
    for (scenario, status) in [("ok", 0), ("panic", 101)] {
        let ran = run(["--image", image, scenario]).expect(status);
        assert!(!ran.words.contains("asked from outside"), "{}", ran.words);
    }
}
