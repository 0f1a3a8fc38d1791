//! Names of functions in the source, from names for the linker.

use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// The most bytes of a demangled name of C++. A mangled name can refer to its parts, so that each part doubles the length.
const LONGEST: usize = 1 << 16;

/// Returns the name of a function of Rust without its hash, or of C++ without parameters; `None` if the name is not mangled.
///
/// Mangled names of ELF files begin with an underscore. Without this check, functions of C would get another name: `f` is the type `float` for
/// C++, and `RC3one` the crate `one` for Rust.
pub(super) fn demangled(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") && !symbol.starts_with("_R") {
        return None;
    }
    match rustc_demangle::try_demangle(symbol) {
        Ok(name) => Some(format!("{name:#}")),
        Err(_) => of_cpp(symbol),
    }
}

/// A name of at most [`LONGEST`] bytes.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Returns the name of a function of C++; `None` if it is not mangled, or too long.
fn of_cpp(symbol: &str) -> Option<String> {
    // Compilers append a word with a point to the name of a part of a function.
    let at = symbol.find('.').unwrap_or(symbol.len());
    let (name, part) = symbol.split_at(at);
    let options = DemangleOptions::new().no_params().no_return_type();
    let mut demangled = Bounded(String::new());
    let name = Symbol::new(name).ok()?;
    name.structured_demangle(&mut demangled, &options).ok()?;
    Some(demangled.0 + part)
}

#[cfg(test)]
mod tests {
    use crate::symbols::Names;

    #[test]
    fn names_of_rust_and_cpp_are_demangled() {
        for (symbol, full, short) in [
            (
                "_RNvNtCs1234_6kernel4boot4main",
                "kernel::boot::main",
                "kernel::boot::main",
            ),
            (
                "_ZN6kernel4boot4main17h0123456789abcdefE",
                "kernel::boot::main",
                "kernel::boot::main",
            ),
            ("_Z4mainv", "main", "main"),
            ("_ZN4Disk4readEmPh", "Disk::read", "Disk::read"),
            ("_ZNK4DiskltERKS_", "Disk::operator<", "Disk::operator<"),
            ("_ZN4DiskD2Ev", "Disk::~Disk", "Disk::~Disk"),
            (
                "_ZN12_GLOBAL__N_14loopEv",
                "(anonymous namespace)::loop",
                "(anonymous namespace)::loop",
            ),
            ("_ZN4ListIiE4pushEi", "List<int>::push", "List::push"),
            ("_Z4swapIiEvRT_S1_", "swap<int>", "swap"),
            ("_Z4loopv.cold", "loop.cold", "loop.cold"),
            ("_Z4loopi.part.0", "loop.part.0", "loop.part.0"),
        ] {
            assert_eq!(Names::Full.name(symbol), full);
            assert_eq!(Names::Short.name(symbol), short);
        }
    }

    /// Each argument is a template of the argument before it, twice.
    #[test]
    fn a_name_that_grows_with_each_part_stays() {
        let name = |count: usize| {
            let parts = ('1'..='9').chain('A'..='Z').take(count);
            let arguments: String = parts.map(|part| format!("S0_IS{part}_S{part}_E")).collect();
            format!("_Z1fI1AIiiE{arguments}Evv")
        };
        let expected = "f<A<int, int>, A<A<int, int>, A<int, int> > >";
        assert_eq!(Names::Full.name(&name(1)), expected);
        let long = Names::Full.name(&name(10));
        assert!(long.starts_with("f<A<int, int>, ") && long.len() > 20_000);
        assert_eq!(Names::Full.name(&name(35)), name(35));
    }

    #[test]
    fn other_names_stay() {
        for symbol in [
            "f",
            "i",
            "RC3one",
            "main",
            "_Z",
            "_Zone",
            "_start",
            "Z4mainv",
            "memcpy.part.0",
            "",
        ] {
            assert_eq!(Names::Full.name(symbol), symbol);
            assert_eq!(Names::Short.name(symbol), symbol);
        }
    }
}
