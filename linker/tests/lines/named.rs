//! Several names of one function, of which one is shown: by the tables, and by whoever reads the image.

use object::{Object, ObjectSymbol};

use super::{
    SCRIPT, TARGET, address_of, assemble, compile, folder, link, lookup, sframe, stdout, succeed,
    tool,
};

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
        // Nothing tells which.
        ("-g0", "short (or zz_called_so)+0x0/0x2"),
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
    let expected = "wait_for_the_disk (or wait_net)+0x0/";
    assert!(answer.starts_with(expected), "{answer}");
}

/// Functions with the same code, in one file and in two, with other bindings: each line is in the function whose name it has.
#[test]
fn folded_functions_have_lines_of_the_name() {
    let folder = folder("named_folded_lines");
    let first = "int sink(int);
int zz_read_disk(int x)
{
	int y = sink(x + 1);
	return y * 3;
}
static int read_net(int x)
{
	int y = sink(x + 1);
	return y * 3;
}
__attribute__((weak)) int sink(int x)
{
	__asm__ volatile(\"\");
	return x;
}
int read_file(int);
int _start(int x) { return zz_read_disk(x) + read_net(x) + read_file(x); }
";
    let second = "int sink(int);
int read_file(int x)
{
	int y = sink(x + 1);
	return y * 3;
}
";
    std::fs::write(folder.join("first.c"), first).unwrap();
    std::fs::write(folder.join("second.c"), second).unwrap();
    let bodies = [
        ("zz_read_disk", "first.c", 2..=6),
        ("read_net", "first.c", 7..=11),
        ("read_file", "second.c", 2..=6),
    ];
    let no_fold = ["-fno-ipa-icf", "-fno-inline"];
    let clang = ["--target=x86_64-none-elf", "-fno-inline"];
    tool("ld.lld", "lld");
    for (compiler, switches) in [("gcc", no_fold), ("clang", clang)] {
        for debug in ["-gdwarf-5", "-gdwarf-4"] {
            for file in ["first", "second"] {
                let mut command = tool(compiler, compiler);
                command.current_dir(&folder).args(switches).args([
                    debug,
                    "-c",
                    "-O1",
                    "-ffreestanding",
                    "-fno-pic",
                    "-ffunction-sections",
                ]);
                succeed(command.args([format!("{file}.c"), "-o".into(), format!("{file}.o")]));
            }
            for order in [["first.o", "second.o"], ["second.o", "first.o"]] {
                let arguments = [
                    &["--sframe-linker=ld.lld", "--icf=all", "--sframe-require"],
                    &order[..],
                ];
                let (image, _) = link(&folder, SCRIPT, &arguments.concat());
                let start = address_of(&image, "read_file");
                assert_eq!(start, address_of(&image, "read_net"), "not folded");
                let data = std::fs::read(&image).unwrap();
                let file = object::File::parse(&*data).unwrap();
                let size = file.symbol_by_name("read_file").unwrap().size();
                let mut lines = 0;
                for address in start..start + size {
                    let answer = lookup(&image, address);
                    let (name, place) = answer.split_once('+').expect("a name");
                    let (own, or) = name.split_once(" (or ").expect("it is not known which");
                    let others = bodies.iter().filter(|(name, ..)| *name != own);
                    for (other, ..) in others {
                        assert!(or.contains(other), "{compiler} {debug}: {answer}");
                    }
                    let (_, file, body) = bodies.iter().find(|(name, ..)| *name == own).unwrap();
                    if let Some((_, place)) = place.split_once(" at ") {
                        let (found, line) = place.split_once(':').unwrap();
                        let is_own = found.ends_with(file) && body.contains(&line.parse().unwrap());
                        assert!(is_own, "{compiler} {debug}: {answer}");
                        lines += 1;
                    }
                }
                assert!(lines > 10, "{compiler} {debug} {order:?}: {lines}");
            }
        }
    }
}

/// Debug information has one of two names, and no call by either name, so that both names are shown.
#[test]
fn aliases_without_calls_are_shown_with_debug_information_too() {
    let folder = folder("named_aliases");
    let text = "
        int read_sector(int *p) { return *p; }
        int zz_other_global(int *) __attribute__((alias(\"read_sector\")));
        static int a_local(int *) __attribute__((alias(\"read_sector\"), used));
        int weak_one(int *) __attribute__((alias(\"read_sector\"), weak));
        int _start(int *p) { return *p; }
    ";
    for (switch, expected) in [
        ("-g", "read_sector (or zz_other_global)+0x0/"),
        ("-gdwarf-4", "read_sector (or zz_other_global)+0x0/"),
        ("-g0", "read_sector (or zz_other_global)+0x0/"),
    ] {
        compile(&folder, text, &[switch]);
        for level in ["--symbols=all", "--symbols=names", "--symbols=none"] {
            let (image, _) = link(&folder, SCRIPT, &["source.o", level]);
            let answer = lookup(&image, address_of(&image, "read_sector"));
            assert!(answer.starts_with(expected), "{switch} {level}: {answer}");
            let check = sframe(&["check"], &image);
            assert!(check.status.success(), "{}", stdout(&check));
        }
    }
}
