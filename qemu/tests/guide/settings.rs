//! What the guide says of settings of cargo: of debug information, of `core`, and of `rustflags`.

use std::fs;

use qemu::build::Profile;

use super::kinds::expect_shown;
use super::makefile::{self, MAKEFILE};
use super::short::{self, HANDLERS};

/// What the guide says of `debug` in a profile.
#[long]
fn debug_information_of_less_detail() {
    let debug = |value: &str| {
        let said = MAKEFILE.with(Profile::Debug, |folder| {
            let with = format!("opt-level = 1\ndebug = {value}");
            short::replace(&folder.join("Cargo.toml"), "opt-level = 1", &with);
        });
        said.text
    };
    expect_shown(&debug("\"limited\""), "panicked at ", MAKEFILE.page);

    let text = debug("\"line-tables-only\"");
    for line in [
        "inlined into price_on at src/shop.rs:27\n",
        "inlined into corner_shop::shop::sell at src/shop.rs:15\n",
    ] {
        assert!(text.contains(line), "{text}");
    }

    let text = debug("false");
    let (_, trace) = text.split_once("\n   0: 0x").expect("a report");
    assert!(
        trace.contains(" r corner_shop::exceptions::page_fault+0x"),
        "{text}"
    );
    for lost in [" at src/", "inlined into"] {
        assert!(!trace.contains(lost), "{text}");
    }
    // rustup's `core` has debug information of its own.
    let lines = trace.lines().filter(|line| line.contains(" at core/"));
    let names: Vec<_> = lines
        .filter_map(|line| line.split(' ').rev().nth(2))
        .collect();
    assert!(
        !names.is_empty() && names.iter().all(|name| name.starts_with("core::")),
        "{text}"
    );
}

/// The guide's words about `-Zbuild-std`: the kernel's profile decides whether `core` has debug assertions. Rustup's has none, in the same
/// kernel and in this program.
#[long]
fn core_that_is_built_as_the_profile_says() {
    let shop = "
        #[inline(never)]
        pub fn serve(customers: u64) {
            let sum: u64 = core::hint::black_box([customers, 1]).into_iter().sum();
            panic!(\"{sum}\");
        }
    ";
    // An assertion of `core::ops::IndexRange`, by which arrays are walked.
    let assertion = "assertion failed: self.START < self.end".replace("START", "start");
    let has_assertion = |bytes: &[u8]| {
        let mut windows = bytes.windows(assertion.len());
        windows.any(|window| window == assertion.as_bytes())
    };
    let of = |profile, core: &str| {
        let said = HANDLERS.with(profile, |folder| {
            short::write_shop(folder, shop);
            let config = folder.join(".cargo/config.toml");
            let before = fs::read_to_string(&config).expect("it is there");
            fs::write(&config, before + core).expect("it can be written");
        });
        has_assertion(&said.image())
    };
    let own = "[unstable]\nbuild-std = [\"core\", \"compiler_builtins\"]\nbuild-std-features = [\"compiler-builtins-mem\"]\n";
    assert!(of(Profile::Debug, own));
    assert!(!of(Profile::Release, own));
    assert!(!of(Profile::Debug, ""));

    let numbers = std::hint::black_box([3_u64, 1]);
    assert_eq!(numbers.into_iter().sum::<u64>(), 4);
    let this = std::env::current_exe().and_then(std::fs::read);
    assert!(!has_assertion(&this.expect("it can be read")));
}

/// Cargo leaves out the `rustflags` of `.cargo/config.toml`, and says nothing.
#[long]
fn rustflags_of_the_environment_take_the_place_of_those_in_the_file() {
    let said = MAKEFILE.with(Profile::Debug, makefile::set_in_config);
    let (_, end) = said
        .text
        .split_once("\nend of backtrace: ")
        .expect("a report");
    let (_, end) = end
        .split_once("incomplete: no unwind row for address 0x")
        .expect(end);
    assert_eq!(
        end.get(16..),
        Some(": no function in the unwind table contains the address, 7 frames\n")
    );
}
