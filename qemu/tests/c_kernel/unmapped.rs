//! A kernel in C that maps its own sections only: the tables, which the link has added between them, are not mapped.

use object::{Object as _, ObjectSymbol as _};

use super::build::{Tools, replace};

/// Maps the first 2 MiB again by pages of 4 KiB, without those that have nothing but tables.
const UNMAP: &str = "
extern char __sframe_start[], __symbols_end[];
static uint64_t level1[512] __attribute__((aligned(4096)));

static void unmap_tables(void)
{
	uint64_t *level4, *level3, *level2;
	__asm__ volatile(\"mov %%cr3, %0\" : \"=r\"(level4));
	level3 = (uint64_t *)(level4[0] & ~0xfffull);
	level2 = (uint64_t *)(level3[0] & ~0xfffull);
	for (uint64_t page = 0; page < 512; page++) {
		uint64_t at = page << 12;
		if (at < (uint64_t)__sframe_start || at + 4096 > (uint64_t)__symbols_end)
			level1[page] = at | 3;
	}
	level2[0] = (uint64_t)level1 | 3;
	__asm__ volatile(\"mov %0, %%cr3\" : : \"r\"(level4) : \"memory\");
}

void kernel_main(void)";

pub fn a_report_names_tables_that_are_not_mapped(tools: Tools) {
    let said = tools.with(|folder| {
        replace(folder, "main.c", "\nvoid kernel_main(void)", UNMAP);
        replace(
            folder,
            "main.c",
            "serve(3);",
            "unmap_tables();\n\tserve(3);",
        );
    });
    let bytes = std::fs::read(&said.image).expect("the image can be read");
    let image = object::File::parse(&*bytes).expect("an ELF file");
    let [start, end] = ["__sframe_start", "__symbols_end"].map(|name| {
        let symbol = image.symbols().find(|symbol| symbol.name() == Ok(name));
        symbol.expect("a symbol of the link").address()
    });
    let expected = format!(
        "panic: no apples left\n\
         the unwind tables at {start:#018x} are not mapped: map the range from {start:#018x} to {end:#018x}\n\
         x86_64, no build id, no tables\n"
    );
    assert!(said.text.contains(&expected), "{}", said.text);
}
