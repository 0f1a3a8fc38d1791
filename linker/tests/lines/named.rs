//! Several names of one function, of which one is shown: by the tables, and by whoever reads the image.

use super::{SCRIPT, TARGET, address_of, assemble, compile, folder, link, lookup, tool};

/// Assembly with two global names, of which calls have the longer one.
#[test]
fn function_has_the_name_that_calls_have() {
    let folder = folder("named_called");
    let text = "
        int zz_called_so(int *);
        int _start(int *p) { return zz_called_so(p) + 1; }
    ";
    let names = "
        .globl short, zz_called_so
        .type short, %function
        .type zz_called_so, %function
        .type a, %function
        a: short: zz_called_so: nop
         ret
        .size a, 2
        .size short, 2
        .size zz_called_so, 2
    ";
    assemble(&folder, TARGET, names);
    for (switch, expected) in [
        ("-gdwarf-5", "zz_called_so+0x0/0x2"),
        ("-gdwarf-4", "zz_called_so+0x0/0x2"),
        ("-g0", "short+0x0/0x2"),
    ] {
        compile(&folder, text, &[switch]);
        // Also without lines the name is that.
        for level in ["--symbols=all", "--symbols=names", "--symbols=none"] {
            let (image, _) = link(&folder, SCRIPT, &["source.o", "input.o", level]);
            let answer = lookup(&image, address_of(&image, "short"));
            assert_eq!(answer, expected, "{switch} {level}");
        }
    }
}

/// Two functions with the same code, which the linker has made one: the name is that of the function that debug information still has code of.
#[test]
fn folded_functions_have_the_name_in_debug_information() {
    let folder = folder("named_folded");
    let text = "
        int wait_for_the_disk(int *p)
        {
            while (!(*p & 1)) ;
            return *p;
        }
        int wait_net(int *p) { while (!(*p & 1)) ; return *p; }
        int _start(int *p) { return wait_net(p) + wait_for_the_disk(p); }
    ";
    compile(
        &folder,
        text,
        &["-g", "-O1", "-fno-inline", "-ffunction-sections"],
    );
    tool("ld.lld", "lld");
    let arguments = ["--sframe-linker=ld.lld", "--icf=all", "source.o"];
    let (image, _) = link(&folder, SCRIPT, &arguments);
    let start = address_of(&image, "wait_net");
    assert_eq!(start, address_of(&image, "wait_for_the_disk"), "not folded");
    let answer = lookup(&image, start);
    assert!(answer.starts_with("wait_for_the_disk+0x0/"), "{answer}");
}
