//! How much code the library adds to a kernel in C, and how much stack a report takes.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSection};

use super::build::{Said, Tools, replace};

/// The bytes of an image's code.
pub fn code_size(image: &Path) -> u64 {
    let data = fs::read(image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let text = file.section_by_name(".text").expect("there is code");
    text.size()
}

/// A report that says how much of the stack it has taken.
pub const MEASURED: &str = r#"extern char stack_start[];
	volatile unsigned char *low = (void *)stack_start, *top = __builtin_frame_address(0);
	for (volatile unsigned char *at = low; at < top - 512; at++)
		*at = 0xa5;
	unwind_print(put_char, why);
	while (*low == 0xa5)
		low++;
	print("bytes of stack: ");
	print_number(top - low);
	print("\n");"#;

/// How much it says.
pub fn stack_taken(said: &Said) -> u64 {
    let (_, taken) = said
        .text
        .split_once("bytes of stack: ")
        .expect("it is measured");
    taken.trim().parse().expect("a number")
}

/// The header and the guide have the numbers.
pub fn code_and_stack_are_as_large_as_is_said(tools: Tools) {
    let said = tools.with(|folder| {
        replace(folder, "main.c", "unwind_print(put_char, why);", MEASURED);
    });
    let taken = stack_taken(&said);
    let added = code_size(&said.image) - code_size(&tools.without().image);
    println!("{tools:?}: {added} bytes of code, {taken} of stack");
    assert!(taken < 1 << 10, "{taken} of stack");
    assert!((70_000..=94_000).contains(&added), "{added} of code");
}
