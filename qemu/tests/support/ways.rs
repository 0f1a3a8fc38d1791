//! Ways: call paths of the kernel, in which a scenario has no functions, such as from its entry to the scenario, or from a panic
//! to the report.
//!
//! The kernel's private functions are not named here, so that they can be renamed, split and inlined. Instead, a way begins and
//! ends at functions that `kernel/src/symbols.rs` documents, and all frames between them are return addresses of functions
//! outside of scenarios. [`super::calls`] checks that each one calls the next.

use qemu::build::Profile;

use super::report::Frame;
use super::trace::Rest;

/// The path of the scenarios' modules.
const SCENARIOS: &str = "kernel::scenario::";
/// The module of the scenario that takes commands.
const MONITOR: &str = "kernel::monitor::";

/// The largest number of frames between the two ends of a way. The longest today, a report that hangs, has 16.
const MAX_FRAMES: usize = 20;

/// A call path of the kernel.
pub struct Way {
    name: &'static str,
    /// The innermost function, an exact frame.
    from: Option<fn(&str) -> bool>,
    /// Which functions are on it.
    between: fn(&str) -> bool,
    /// The smallest number of frames between the ends: without inlining, and by an optimizing compiler.
    fewest: [usize; 2],
    /// The outermost function.
    to: Option<fn(&str) -> bool>,
}

const WAYS: [Way; 9] = [
    // From the panic handler through `core` and `alloc` to the function that panicked.
    Way {
        name: "panic",
        from: Some(|name| name == "__rustc::rust_begin_unwind"),
        between: is_library,
        fewest: [1, 1],
        to: None,
    },
    // From a function that reports, through the kernel, to the one that asked for the report.
    Way {
        name: "report",
        from: Some(is_kernel),
        between: is_kernel,
        fewest: [0, 0],
        to: None,
    },
    // From a scenario's function through the kernel, or `core`, to another one.
    Way {
        name: "kernel",
        from: None,
        between: is_kernel,
        fewest: [1, 0],
        to: None,
    },
    // From where a task gave up its CPU to the function that made it wait.
    Way {
        name: "switch",
        from: Some(|name| name == "task_switch"),
        between: is_kernel,
        fewest: [1, 0],
        to: None,
    },
    // From a handler to the trap code that called it.
    Way {
        name: "trap",
        from: None,
        between: is_kernel,
        fewest: [1, 0],
        to: Some(|name| ["trap_entry", "trap_preempted"].contains(&name)),
    },
    // From a scenario to the entry of the kernel, of a task, of a CPU that is not the first.
    Way {
        name: "entry",
        from: None,
        between: is_kernel,
        fewest: [1, 0],
        to: Some(|name| name == "kernel_entry"),
    },
    Way {
        name: "task",
        from: None,
        between: is_kernel,
        fewest: [1, 0],
        to: Some(|name| name == "task_begin"),
    },
    Way {
        name: "cpu",
        from: None,
        between: is_kernel,
        fewest: [1, 1],
        to: Some(|name| ["start_entry", "start_high"].contains(&name)),
    },
    // A CPU that is not the first, and has nothing to do.
    Way {
        name: "idle",
        from: Some(is_kernel),
        between: is_kernel,
        fewest: [1, 0],
        to: Some(|name| ["start_entry", "start_high"].contains(&name)),
    },
];

impl Way {
    /// The way with this name.
    pub fn named(name: &str) -> &'static Self {
        let way = WAYS.iter().find(|way| way.name == name);
        way.unwrap_or_else(|| panic!("no way {name:?}"))
    }

    /// Consumes the frames of the way.
    pub fn follow(&self, frames: &mut Rest<'_>, profile: Profile) -> Result<(), &'static str> {
        let is = |letter, which: fn(&str) -> bool| {
            move |frame: &Frame| frame.letter == letter && frame.name.as_deref().is_some_and(which)
        };
        if let Some(from) = self.from {
            frames.next_if(is('p', from)).ok_or("it does not begin")?;
        }
        let (mut count, mut last) = (0, None);
        while let Some(frame) = frames.next_if(is('r', self.between)) {
            // What is formatted formats.
            let is_recursive = frame.name.as_deref() == Some("core::fmt::write");
            if last.replace(frame.address) == Some(frame.address) && !is_recursive {
                return Err("one is there twice");
            }
            count += 1;
        }
        if count > MAX_FRAMES {
            return Err("it is too long");
        }
        let [plain, optimized] = self.fewest;
        let fewest = if profile.is_optimized() {
            optimized
        } else {
            plain
        };
        if count < fewest {
            return Err("it is too short");
        }
        if let Some(to) = self.to {
            frames.next_if(is('r', to)).ok_or("it does not end")?;
        }
        Ok(())
    }
}

/// Whether this is a function of the libraries that come with the compiler.
pub fn is_library(name: &str) -> bool {
    let path = name.trim_start_matches(['<', '&']);
    let path = path.strip_prefix("mut ").unwrap_or(path);
    let libraries = ["core::", "alloc::", "__rustc::"];
    libraries.iter().any(|it| path.starts_with(it)) && !is_scenario(name)
}

/// Whether this is a function of the kernel or of a library, but of no scenario. Such names have a path, except the assembly
/// that changes stacks; other assembly begins or ends a way.
fn is_kernel(name: &str) -> bool {
    (name.contains("::") || name == "call_on_stack")
        && name != "__rustc::rust_begin_unwind"
        && !is_scenario(name)
}

/// Whether this name contains a scenario's module, or the monitor's, which is a scenario, too. Functions outside of these
/// modules, such as the one that runs the chosen scenario, are the kernel's.
pub fn is_scenario(name: &str) -> bool {
    let mut found = name.match_indices(SCENARIOS);
    let is_in_module = found.any(|(at, _)| {
        let rest = &name[at + SCENARIOS.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        end.is_some_and(|end| rest[end..].starts_with("::"))
    });
    is_in_module || name.contains(MONITOR)
}
