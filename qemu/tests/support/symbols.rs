//! Names of an image that `kernel/src/symbols.rs` promises, and its functions.

use std::path::Path;

use object::{File, Object, ObjectSection, ObjectSymbol};

/// Things of one size in the kernel, one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// The address of the first one.
    pub first: u64,
    /// How many there are.
    pub count: u64,
    /// Bytes from one to the next.
    pub stride: u64,
    /// Bytes of the guard pages that each begins with.
    pub guard: u64,
}

/// The address of the symbol with this name.
#[track_caller]
pub fn address(file: &File<'_>, name: &str) -> u64 {
    let symbol = file.symbol_by_name(name);
    let symbol = symbol.unwrap_or_else(|| panic!("no symbol {name}"));
    symbol.address()
}

/// The address that is stored there.
#[track_caller]
pub fn pointer(file: &File<'_>, name: &str) -> u64 {
    let [address] = words(file, name);
    address
}

/// The array that is described there.
#[track_caller]
pub fn array(file: &File<'_>, name: &str) -> Array {
    let [first, count, stride, guard] = words(file, name);
    Array {
        first,
        count,
        stride,
        guard,
    }
}

/// The address of the Rust function with this path.
#[track_caller]
pub fn function(file: &File<'_>, path: &str) -> u64 {
    let mut symbols = file.symbols();
    let found = symbols.find(|symbol| {
        let name = symbol.name().unwrap_or_default();
        format!("{:#}", rustc_demangle::demangle(name)) == path
    });
    found
        .unwrap_or_else(|| panic!("no function {path}"))
        .address()
}

/// The words that are stored there, from the first one on.
#[track_caller]
pub fn words<const COUNT: usize>(file: &File<'_>, name: &str) -> [u64; COUNT] {
    let start = address(file, name);
    let bytes = file
        .sections()
        .find_map(|section| section.data_range(start, 8 * COUNT as u64).ok().flatten());
    let bytes = bytes.unwrap_or_else(|| panic!("{name} is in no section"));
    let words = bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word));
    words
        .collect::<Vec<_>>()
        .try_into()
        .expect("as many words as were asked for")
}

/// The bytes of the function with this demangled name.
pub fn code(image: &Path, name: &str) -> Vec<u8> {
    let data = std::fs::read(image).expect("the image can be read");
    let file = File::parse(&*data).expect("the image is ELF");
    let function = file.symbols().find(|symbol| {
        let demangled = rustc_demangle::demangle(symbol.name().unwrap_or_default());
        format!("{demangled:#}") == name
    });
    let function = function.expect("the image has the function");
    let mut sections = file.sections();
    let code = sections.find_map(|section| {
        let data = section.data_range(function.address() & !1, function.size());
        data.ok().flatten()
    });
    code.expect("its code is in the image").to_vec()
}
