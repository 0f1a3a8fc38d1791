//! A kernel in C of whose functions the linker has made one, because their code is the same.

use super::build::{Tools, replace};
use crate::decode::{bare, decode};
use crate::support::report::Report;

const FUNCTIONS: &str = "
__attribute__((noinline)) void look_at(unsigned size)
{
	print(\"looking\\n\");
	if (size > 5)
		panic(\"too large\");
	print(\"seen\\n\");
}

__attribute__((noinline)) void look_for(unsigned size)
{
	print(\"looking\\n\");
	if (size > 5)
		panic(\"too large\");
	print(\"seen\\n\");
}

void kernel_main(void)";

pub fn folded_functions_have_both_names(tools: Tools) {
    let said = tools.with(|folder| {
        replace(folder, "Makefile", "-Wall", "-ffunction-sections -Wall");
        replace(folder, "Makefile", "-z noexec", "--icf=all -z noexec");
        replace(folder, "main.c", "\nvoid kernel_main(void)", FUNCTIONS);
        let calls = "look_at(1);\n\tlook_for(8);";
        replace(folder, "main.c", "serve(3);", calls);
    });
    let text = &said.text;
    let found = |text: &str| {
        let begin = text.find("panic: too large").expect("a report");
        let report = Report::find(["fault on cpu 0: ", &text[begin..]].concat().as_bytes());
        let frames = report
            .frames
            .into_iter()
            .map(|frame| (frame.name, frame.sources));
        frames.collect::<Vec<_>>()
    };
    let by_kernel = found(text);
    let name = |number: usize| by_kernel[number].0.as_deref();
    assert_eq!(name(2), Some("look_at (or look_for)"), "{text}");
    assert_eq!(name(3), Some("kernel_main"), "{text}");
    let main = std::fs::read_to_string(said.folder().join("main.c")).expect("it is there");
    let line = main
        .lines()
        .position(|line| line.contains("panic(\"too large\")"));
    let line = u32::try_from(line.expect("it is there") + 1).expect("a short file");
    let place = by_kernel[2].1[0].place.clone();
    assert_eq!(place, Some(("main.c".to_owned(), line)), "{text}");
    // The same by the runner, of a log without names, and with those of the kernel. It has whole paths.
    for log in [&bare(text), text] {
        let by_host = decode(log, &said.image, &[]).text();
        let (name, sources) = &found(&by_host)[2];
        assert_eq!(*name, by_kernel[2].0, "{by_host}");
        let (file, own) = sources[0].place.as_ref().expect("it has a line");
        assert!(file.ends_with("main.c") && *own == line, "{by_host}");
    }
}
