//! Kernels in C that leave the mapping of their boot code, and map their own image: each section by symbols of the linker script, or each
//! segment by its program header. The scripts have no place for the tables, and the reports are complete.

use std::fs;

use qemu::machine::Arch;

use super::build::{Tools, replace};
use super::reports::expect_both;

/// Page tables for the first 8 MiB of memory, with what is mapped by name only. Flags are those of what can be written, and of what cannot.
const X86_64: &str = "
enum { WRITTEN = 3, READ = 1 };
static uint64_t own4[512] __attribute__((aligned(4096)));
static uint64_t own3[512] __attribute__((aligned(4096)));
static uint64_t own2[512] __attribute__((aligned(4096)));
static uint64_t own1[4 * 512] __attribute__((aligned(4096)));

static void map(uint64_t from, uint64_t to, uint64_t flags)
{
	for (uint64_t page = from >> 12; page << 12 < to; page++)
		own1[page] = page << 12 | flags;
}

static void enter(void)
{
	for (unsigned i = 0; i < 4; i++)
		own2[i] = (uint64_t)&own1[i * 512] | 3;
	own3[0] = (uint64_t)own2 | 3;
	own4[0] = (uint64_t)own3 | 3;
	__asm__ volatile(\"mov %0, %%cr3\" : : \"r\"(own4) : \"memory\");
}
";

/// The same, with the devices in the first gigabyte.
const AARCH64: &str = "
enum { WRITTEN = 0x707, READ = 0x787 };
static uint64_t own1[512] __attribute__((aligned(4096)));
static uint64_t own2[512] __attribute__((aligned(4096)));
static uint64_t own3[4 * 512] __attribute__((aligned(4096)));

static void map(uint64_t from, uint64_t to, uint64_t flags)
{
	for (uint64_t page = from >> 12; page << 12 < to; page++)
		own3[page & 2047] = page << 12 | flags;
}

static void enter(void)
{
	for (unsigned i = 0; i < 4; i++)
		own2[i] = (uint64_t)&own3[i * 512] | 3;
	own1[0] = 0x0060000000000401;
	own1[1] = (uint64_t)own2 | 3;
	__asm__ volatile(\"dsb sy\\n\\tmsr ttbr0_el1, %0\\n\\tisb\\n\\ttlbi vmalle1\\n\\tdsb sy\\n\\tisb\" : : \"r\"(own1) : \"memory\");
}
";

/// Maps each section from a symbol to a symbol.
const BY_SYMBOLS: &str = "
extern char stext[], etext[], srodata[], erodata[], sdata[], edata[], sbss[], ebss[];

static void map_image(void)
{
	map((uint64_t)stext, (uint64_t)etext, READ);
	map((uint64_t)srodata, (uint64_t)erodata, READ);
	map((uint64_t)sdata, (uint64_t)edata, WRITTEN);
	map((uint64_t)sbss, (uint64_t)ebss, WRITTEN);
	enter();
}
";

/// Maps what is loaded, as the program headers have it.
const BY_SEGMENTS: &str = "
struct segment { uint32_t type, flags; uint64_t offset, address, physical, in_file, in_memory, alignment; };
extern char __ehdr_start[];

static void map_image(void)
{
	uint64_t headers = *(uint64_t *)(__ehdr_start + 32);
	uint16_t count = *(uint16_t *)(__ehdr_start + 56);
	struct segment *segment = (struct segment *)(__ehdr_start + headers);

	for (; count > 0; count--, segment++)
		if (segment->type == 1)
			map(segment->address, segment->address + segment->in_memory, segment->flags & 2 ? WRITTEN : READ);
	enter();
}
";

/// The symbols are between the sections.
const BETWEEN: &str = "SECTIONS
{
	. = BASE;
	stext = .;
	.text : { *(.text.start) *(.text .text.*) }
	. = ALIGN(4096);
	etext = .;
	srodata = .;
	.rodata : { *(.rodata .rodata.*) }
	.note : { *(.note.pvh) }
	. = ALIGN(4096);
	erodata = .;
	sdata = .;
	.data : { *(.data .data.* .got .got.*) }
	. = ALIGN(4096);
	edata = .;
	sbss = .;
	.bss : { bss_start = .; *(.bss .bss.* COMMON) . = ALIGN(16); bss_end = .; }
	ebss = .;
	/DISCARD/ : { *(.comment .note.gnu.* .eh_frame) }
}
";

/// The symbols are in the sections. Nothing is between these.
const INSIDE: &str = "SECTIONS
{
	. = BASE;
	.text ALIGN(4096) : { stext = .; *(.text.start) *(.text .text.*) . = ALIGN(4096); etext = .; }
	.rodata ALIGN(4096) : { srodata = .; *(.rodata*) . = ALIGN(4096); erodata = .; }
	.data ALIGN(4096) : { sdata = .; *(.data* .got*) edata = .; }
	.bss ALIGN(4096) : { sbss = .; bss_start = .; *(.bss* COMMON) . = ALIGN(16); bss_end = .; ebss = .; }
	.note : { *(.note.pvh) }
	/DISCARD/ : { *(.comment .note.gnu.* .eh_frame) }
}
";

/// Segments of the script, the first one with the headers.
const SEGMENTS: &str = "PHDRS { text PT_LOAD FILEHDR PHDRS FLAGS(5); rodata PT_LOAD FLAGS(4); data PT_LOAD FLAGS(6); note PT_NOTE FLAGS(4); }
SECTIONS
{
	. = BASE + SIZEOF_HEADERS;
	.text : { *(.text.start) *(.text .text.*) } :text
	. = ALIGN(4096);
	.rodata : { *(.rodata .rodata.*) } :rodata
	.note : { *(.note.pvh) } :rodata :note
	. = ALIGN(4096);
	.data : { *(.data .data.* .got .got.*) } :data
	.bss : { bss_start = .; *(.bss .bss.* COMMON) . = ALIGN(16); bss_end = .; } :data
	/DISCARD/ : { *(.comment .note.gnu.* .eh_frame) }
}
";

/// Boots the kernel with this linker script and this way to map what it has linked, and expects complete reports.
#[track_caller]
fn expect_complete(tools: Tools, script: &str, map: &str) {
    let (tables, base) = match tools.arch {
        Arch::X86_64 => (X86_64, "1M"),
        Arch::Aarch64 => (AARCH64, "0x40200000"),
    };
    let said = tools.with(|folder| {
        let script = format!("ENTRY(start)\n{}", script.replace("BASE", base));
        let path = folder.join(tools.arch.to_string()).join("kernel.ld");
        fs::write(path, script).expect("a file can be written");
        let begin = "\nvoid kernel_main(void)";
        replace(folder, "main.c", begin, &[tables, map, begin].concat());
        replace(folder, "main.c", "serve(3);", "map_image();\n\tserve(3);");
    });
    assert!(
        !said.warnings.contains("without tables"),
        "{}",
        said.warnings
    );
    expect_both(tools, &said);
}

pub fn symbols_between_sections_are_around_the_tables(tools: Tools) {
    expect_complete(tools, BETWEEN, BY_SYMBOLS);
}

pub fn symbols_in_sections_are_around_the_tables(tools: Tools) {
    expect_complete(tools, INSIDE, BY_SYMBOLS);
}

pub fn segments_that_a_kernel_maps_have_the_tables(tools: Tools) {
    expect_complete(tools, SEGMENTS, BY_SEGMENTS);
}
