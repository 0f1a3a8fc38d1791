//! Finds imported functions that never return, by name: their code is not in the image.

use rustc_hash::FxHashSet as HashSet;

use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget,
};

use crate::image::Image;

/// Functions of C and C++ libraries that are declared not to return: ISO C, POSIX, the Linux Standard Base, the Itanium C++
/// ABI, and what GNU's, LLVM's and Rust's own libraries call instead of those.
const NEVER_RETURNING: &[&str] = &[
    "_Exit",
    "_Unwind_Resume",
    "_ZSt9terminatev",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_call_terminate",
    "__cxa_call_unexpected",
    "__cxa_deleted_virtual",
    "__cxa_pure_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__libc_start_main",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_longjmp",
    "abort",
    "err",
    "errx",
    "exit",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "siglongjmp",
    "thrd_exit",
    "verr",
    "verrx",
    "xalloc_die",
];

/// The prefixes of mangled names in namespace `std`, of LLVM's C++ library and of GNU's.
const STD: &[&str] = &["_ZNSt3__1", "_ZSt"];

fn is_never_returning(name: &str) -> bool {
    let name = name.split('@').next().unwrap_or(name);
    // As `_ZSt20__throw_length_errorPKc`, where 20 is the length of the name.
    let throws = STD.iter().any(|prefix| {
        let rest = name.strip_prefix(prefix).unwrap_or("x");
        rest.trim_start_matches(|letter: char| letter.is_ascii_digit())
            .starts_with("__throw_")
    });
    NEVER_RETURNING.contains(&name) || throws
}

/// The addresses of GOT words for functions that never return, and of the PLT entries that jump through them.
#[must_use]
pub fn never_returning(image: &Image<'_>) -> HashSet<u64> {
    let file = &image.file;
    let (Some(relocations), Some(symbols)) =
        (file.dynamic_relocations(), file.dynamic_symbol_table())
    else {
        return HashSet::default();
    };
    let mut found: HashSet<u64> = HashSet::default();
    for (word, relocation) in relocations {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            continue;
        };
        let Ok(symbol) = symbols.symbol_by_index(index) else {
            continue;
        };
        // A function that is defined in this image is followed instead.
        if symbol.is_undefined() && symbol.name().is_ok_and(is_never_returning) {
            found.insert(word);
        }
    }
    let mut entries = Vec::new();
    for section in file.sections() {
        let is_plt = section.name().is_ok_and(|name| name.starts_with(".plt"));
        let Ok(code) = section.data() else { continue };
        if !is_plt {
            continue;
        }
        let address = section.address();
        match file.architecture() {
            Architecture::X86_64 => x86_64(code, address, &mut entries),
            Architecture::Aarch64 => aarch64(code, address, &mut entries),
            _ => {}
        }
    }
    let more = entries.iter().filter(|(_, word)| found.contains(word));
    let more: Vec<u64> = more.map(|(entry, _)| *entry).collect();
    found.extend(more);
    found
}

/// Finds PLT entries: `jmp *word(%rip)`, perhaps after `endbr64`. Pairs of the entry and the word.
fn x86_64(code: &[u8], address: u64, entries: &mut Vec<(u64, u64)>) {
    const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    for at in 0..code.len() {
        let rest = code.get(at..).unwrap_or(&[]);
        let Some([0xff, 0x25, offset @ ..]) = rest.first_chunk::<6>() else {
            continue;
        };
        let offset = i32::from_le_bytes(*offset);
        let word = (address + at as u64 + 6).wrapping_add_signed(offset.into());
        // A `bnd` prefix, from toolchains with MPX.
        let jump = match at.checked_sub(1).and_then(|before| code.get(before)) {
            Some(0xf2) => at - 1,
            _ => at,
        };
        entries.push((address + jump as u64, word));
        if let Some(before) = jump.checked_sub(4)
            && code.get(before..jump) == Some(&ENDBR64)
        {
            entries.push((address + before as u64, word));
        }
    }
}

/// Finds PLT entries: `adrp x16, page; ldr x17, [x16, offset]`, perhaps after `bti c`. Pairs of the entry and the word.
fn aarch64(code: &[u8], address: u64, entries: &mut Vec<(u64, u64)>) {
    const BTI_C: u32 = 0xd503_245f;
    let words: Vec<u32> = code
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default()))
        .collect();
    for (index, pair) in words.windows(2).enumerate() {
        let &[page, load] = pair else { continue };
        if page & 0x9f00_001f != 0x9000_0010 || load & 0xffc0_03ff != 0xf940_0211 {
            continue;
        }
        let at = address + 4 * index as u64;
        let offset = (page >> 5 & 0x7_ffff) << 2 | page >> 29 & 3;
        let offset = i64::from((offset << 11).cast_signed() >> 11) << 12;
        let word = (at & !0xfff).wrapping_add_signed(offset) + u64::from(load >> 10 & 0xfff) * 8;
        entries.push((at, word));
        if index.checked_sub(1).and_then(|before| words.get(before)) == Some(&BTI_C) {
            entries.push((at - 4, word));
        }
    }
}
