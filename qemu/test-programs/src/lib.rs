//! Attributes that put a test into the gate (`cargo test`) or into the long part (`.ci/long`).
//!
//! Both are test programs of one package, compiled from the same files. The name of the long one begins with `long`. Cargo passes the name
//! of the program to the compiler in `CARGO_CRATE_NAME`, and each attribute makes a function a test in its own program only. In the
//! other program the function stays, so that the compiler checks it and does not report its helpers as unused.

use proc_macro::TokenStream;

/// Makes a function without parameters a test of the gate.
#[proc_macro_attribute]
pub fn gate(attribute: TokenStream, function: TokenStream) -> TokenStream {
    test_if(!is_long(), &attribute, function)
}

/// Makes a function without parameters a test of the long part.
#[proc_macro_attribute]
pub fn long(attribute: TokenStream, function: TokenStream) -> TokenStream {
    test_if(is_long(), &attribute, function)
}

/// Checks whether the program that is compiled is a long part.
fn is_long() -> bool {
    std::env::var("CARGO_CRATE_NAME").is_ok_and(|name| name.starts_with("long"))
}

fn test_if(is_here: bool, attribute: &TokenStream, function: TokenStream) -> TokenStream {
    let marks = match (attribute.is_empty(), is_here) {
        (false, _) => "::core::compile_error! { \"the attribute takes no arguments\" }",
        (true, true) => "#[test]",
        (true, false) => "#[allow(dead_code)]",
    };
    let mut tokens: TokenStream = marks.parse().expect("the text is Rust");
    tokens.extend(function);
    tokens
}
