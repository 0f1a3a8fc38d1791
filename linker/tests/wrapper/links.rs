//! How often the linker runs, and with which debug information.

use super::*;

/// For tables that need no debug information the first link has none; unless `.debug_frame` says what rows are made from. It may come from
/// a library that is not named as a file, which is found out by the second link.
#[test]
fn the_first_link_has_the_debug_information_that_tables_need() {
    let (folder, main) = assembled("links", CALLS);
    let described = crate::common::assemble(
        &crate::common::folder("links_described"),
        TARGET,
        &only_in_debug_frame("described"),
    );
    let library = described.parent().unwrap().to_str().unwrap();
    let by_name = format!("-l:{}", described.file_name().unwrap().to_str().unwrap());
    let linker = counting_linker(&folder);
    // The rows that the assembler describes, and nothing of the code.
    let switches = [
        format!("--sframe-linker={}", linker.display()),
        "--sframe-repair=no".to_owned(),
    ];
    let links = |level: &str, more: &[&str]| {
        let _ = fs::remove_file(folder.join("runs"));
        let _ = fs::remove_file(folder.join("image"));
        let level = format!("--symbols={level}");
        let own: Vec<&str> = [&switches[0], &switches[1], &level, &main]
            .map(|switch| switch.as_str())
            .to_vec();
        let output = link(&folder, SCRIPT, &[&own, more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let runs = fs::read_to_string(folder.join("runs")).unwrap();
        let is_without_debug = |run: &str| run.contains("--strip-debug");
        let runs: Vec<bool> = runs.lines().map(is_without_debug).collect();
        let dump = stdout(&sframe(&["dump"], &folder.join("image")));
        (runs, dump.contains("described"))
    };
    assert_eq!(links("none", &[]), (vec![true, false], false));
    assert_eq!(links("names", &[]), (vec![true, false], false));
    assert_eq!(links("calls", &[]), (vec![false, false], false));
    let path = described.to_str().unwrap();
    assert_eq!(links("none", &[path]), (vec![false, false], true));
    let unnamed = ["-L", library, &by_name];
    let expected = (vec![true, false, false, false], true);
    assert_eq!(links("none", &unnamed), expected);
}

/// Whatever was linked before, and with the same result. Where it is too little there are two links, and a warning.
#[test]
fn a_link_with_room_enough_is_one() {
    let (folder, main) = assembled("links_room", CALLS);
    let linker = format!("--sframe-linker={}", counting_linker(&folder).display());
    let again = |switches: &[&str]| {
        let _ = fs::remove_file(folder.join("runs"));
        let output = link(
            &folder,
            SCRIPT,
            &[&[&*linker, &*main, "--symbols=names"], switches].concat(),
        );
        assert!(output.status.success(), "{}", stderr(&output));
        let runs = fs::read_to_string(folder.join("runs")).unwrap();
        let image = fs::read(folder.join("image")).unwrap();
        (runs.lines().count(), image, stderr(&output))
    };
    for load in ["--sframe-load=sframe", "--sframe-load=map"] {
        let _ = fs::remove_file(folder.join("image"));
        let enough = [load, "--sframe-room=8K", "--symbols-room=16384"];
        let (runs, first, said) = again(&enough);
        assert_eq!((runs, &*said), (1, ""), "{load}");
        let checked = sframe(&["check"], &folder.join("image"));
        assert!(checked.status.success(), "{}", stdout(&checked));
        assert_eq!(again(&enough), (1, first.clone(), String::new()));
        // The last image has less.
        assert_eq!(again(&[load]).0, 2);
        assert_eq!(again(&enough), (1, first, String::new()));
        let little = [load, "--sframe-room=8", "--symbols-room=16384"];
        let (runs, _, said) = again(&little);
        assert_eq!(runs, 2);
        assert!(
            said.contains("warning: --sframe-room=8 is too small, so the linker had to run twice"),
            "{said}"
        );
    }
}

/// The runs of the linker for a new image, and for the same again. If the link strips what the tables need, that takes a run more.
#[test]
fn a_link_runs_the_linker_once_more_if_it_strips_what_the_tables_need() {
    let (folder, main) = assembled("links_stripped", CALLS);
    let debug = ".section .debug_str,\"MS\",@progbits,1\n.asciz \"text\"\n";
    let debug = crate::common::assemble(&crate::common::folder("links_debug"), TARGET, debug);
    let debug = debug.to_str().unwrap();
    let by_name = format!("-l:{}", Path::new(debug).file_name().unwrap().display());
    let library = [
        "-L",
        Path::new(debug).parent().unwrap().to_str().unwrap(),
        &by_name,
    ];
    // Only of lld it is known what it strips.
    let linker = counting_linker(&folder);
    let lld = folder.join("rust-lld");
    fs::copy(&linker, &lld).unwrap();
    let again = |linker: &Path, arguments: &[&str]| {
        let is_lld = linker == lld;
        let linker = format!("--sframe-linker={}", linker.display());
        let image = folder.join("image");
        let _ = fs::remove_file(&image);
        let [first, second] = [(); 2].map(|()| {
            let _ = fs::remove_file(folder.join("runs"));
            let output = link(
                &folder,
                SCRIPT,
                &[&[linker.as_str(), &main], arguments].concat(),
            );
            assert!(output.status.success(), "{}", stderr(&output));
            let runs = fs::read_to_string(folder.join("runs")).unwrap();
            // There is little to link. Another linker may not know the switch.
            assert_eq!(runs.contains("--threads=1"), is_lld);
            (fs::read(&image).unwrap(), runs.lines().count())
        });
        assert!(first.0 == second.0, "{arguments:?}");
        [first.1, second.1]
    };
    for (arguments, of_lld, of_others) in [
        (&["--symbols=calls"][..], [2, 1], [2, 1]),
        (&["--symbols=calls", "--strip-debug"], [2, 1], [3, 2]),
        (&["--symbols=none", "--strip-debug"], [2, 1], [2, 1]),
        (&["--symbols=calls", "-S", debug], [3, 2], [3, 2]),
        (&["--symbols=names", "-S", debug], [2, 1], [2, 1]),
        (
            &[&["--symbols=calls", "-S"][..], &library].concat(),
            [3, 2],
            [3, 2],
        ),
        (&["--symbols=none", "-s"], [3, 2], [3, 2]),
    ] {
        assert_eq!(again(&lld, arguments), of_lld, "{arguments:?}");
        assert_eq!(again(&linker, arguments), of_others, "{arguments:?}");
    }
}
