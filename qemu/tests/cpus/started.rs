//! How CPUs start, and by which interrupt controller they are stopped.

use super::*;

kernel_tests! { every_and_plain:
    every_cpu_is_started,
}

fn every_cpu_is_started(kernel: Kernel) {
    for cpus in [1, 8] {
        let ran = boot(kernel, cpus, "cpus").expect(0);
        let text = ran.text();
        let mut numbers: Vec<u32> = text
            .lines()
            .filter_map(|line| {
                let (number, _) = line
                    .strip_prefix("cpu ")?
                    .split_once(" runs and has hardware ID 0x")?;
                number.parse().ok()
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(
            numbers,
            (0..cpus).collect::<Vec<_>>(),
            "{kernel:?}:\n{text}"
        );
    }
}

/// A machine of two, whose device tree has four: one is there twice, or all are different.
#[test]
fn a_wrong_list_of_cpus_does_no_harm() {
    let kernel = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Debug,
    };
    let tree = workspace::root().join("kernel/portable/tests/data/virt-4.dtb");
    let tree = std::fs::read(tree).expect("the tree is there");
    let node = tree.windows(6).position(|name| name == b"cpu@3\0");
    let node = node.expect("CPU 3 is there");
    // Its property `reg`: a token, four bytes, a name that does not matter here, and 3.
    let is_its = |end: &usize| {
        let (words, value) = tree[end - 16..*end].split_at(12);
        words[..8] == [0, 0, 0, 3, 0, 0, 0, 4] && value == [0, 0, 0, 3]
    };
    let end = (node + 16..tree.len()).find(is_its);
    let end = end.expect("it has a number");
    for (id, absent) in [(1, &[2][..]), (3, &[2, 3])] {
        let mut tree = tree.clone();
        tree[end - 1] = id;
        let mut file = tempfile::NamedTempFile::new().expect("a file can be made");
        file.write_all(&tree).expect("the file can be written");
        let output = Command::new(emulator(Arch::Aarch64))
            .args(["-M", "virt", "-cpu", "cortex-a72", "-m", "256", "-smp", "2"])
            .args(["-display", "none", "-semihosting", "-monitor", "none"])
            .args(["-serial", "stdio", "-append", "busy", "-dtb"])
            .arg(file.path())
            .arg("-kernel")
            .arg(image(kernel))
            .stdin(Stdio::null())
            .output()
            .expect("QEMU starts");
        let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        assert_eq!(output.status.code(), Some(33), "{text}");
        let says = absent
            .iter()
            .map(|cpu| format!("cpu {cpu} with hardware ID {cpu:#x} does not start\n"));
        let begin = "kernel on virt, aarch64: scenario busy\n".to_owned();
        let begin: String = [begin].into_iter().chain(says).collect();
        assert!(text.starts_with(&begin), "{text}");
        assert_eq!(
            text.matches("does not start").count(),
            absent.len(),
            "{text}"
        );
    }
}

/// A PC has no firmware that knows which CPUs there are: nobody answers for one that is only on the list.
#[test]
fn absent_cpus_of_a_pc_cost_one_wait_and_leave_no_epitaph() {
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Release,
    };
    // Each of the three has ten seconds by a clock that is slower than it says, and all wait at the same time.
    let limit = Duration::from_secs(15);
    let booted = at_entry::boot_within(limit, kernel, "cpus", &["-smp", "2,maxcpus=5"], |memory| {
        let rsdp = memory.find(0xe_0000, 0x10_0000, b"RSD PTR ");
        let rsdt = memory.word(rsdp + 16);
        let tables = (rsdt + 36..rsdt + memory.word(rsdt + 4)).step_by(4);
        let mut tables = tables.map(|at| memory.word(at)).collect::<Vec<_>>();
        tables.retain(|table| memory.read(*table, 4) == b"APIC");
        let &[madt] = &*tables else {
            panic!("tables of CPUs: {tables:x?}");
        };
        let mut at = madt + 44;
        let mut turned_on = 0;
        while at < madt + memory.word(madt + 4) {
            let head = memory.read(at, 2);
            // Those that could be plugged in later: listed, and marked as not there.
            if head[0] == 0 && memory.word(at + 4) & 1 == 0 {
                memory.write(at + 4, &[1]);
                turned_on += 1;
            }
            at += u64::from(head[1]);
        }
        assert_eq!(turned_on, 3);
    });
    let text = String::from_utf8_lossy(&booted.serial);
    assert_eq!(booted.verdict, Verdict::Success, "{text}");
    let absent: String = (2..5)
        .map(|cpu| format!("cpu {cpu} with hardware ID {cpu:#x} does not start\n"))
        .collect();
    let begin = format!("kernel on pc, x86_64: scenario cpus\n{absent}");
    assert!(text.starts_with(&begin), "{text}");
    assert_eq!(
        text.matches(" runs and has hardware ID ").count(),
        2,
        "{text}"
    );
}

/// `virt` needs a GIC of version 3 for more than eight CPUs; begun at EL2, the kernel has to let itself use it.
#[test]
fn a_gic_of_version_3_does_all_that_one_of_version_2_does() {
    let kernel = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Debug,
    };
    let image = image(kernel);
    let version3: &[&str] = &["-machine", "gic-version=3"];
    let at_el2: &[&str] = &["-machine", "gic-version=3,virtualization=on"];
    for (scenario, cpus, more, last) in [
        // Those that the kernel has no room for stay where they are.
        ("cpus", 9, version3, " runs and has hardware ID "),
        ("nmi", 2, version3, "continued after the NMI\n"),
        (
            "tasks",
            1,
            at_el2,
            "3 spawned tasks took the lock `door`, and all spawned tasks have ended\n",
        ),
    ] {
        let boot = Boot {
            cpus,
            limit: Some(Duration::from_secs(120)),
            more,
            ..Boot::new(kernel.arch, &image, scenario)
        };
        let booted = boot_machine(&boot);
        let text = String::from_utf8_lossy(&booted.serial);
        assert_eq!(booted.verdict, Verdict::Success, "{text}");
        assert!(text.contains(last), "{text}");
        assert_eq!(
            text.matches(" runs and has hardware ID ").count(),
            if cpus == 9 { 8 } else { 0 }
        );
        let reports = Report::find_all(&booted.serial);
        assert_eq!(
            reports.len(),
            match scenario {
                "nmi" => 2,
                "tasks" => 7,
                _ => 0,
            },
            "{text}"
        );
        reports.iter().for_each(Report::expect_complete);
    }
}

/// The button is a device's interrupt, which goes to one CPU after the other.
#[test]
fn a_gic_of_version_3_routes_the_button() {
    let kernel = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Debug,
    };
    let image = image(kernel);
    let boot = Boot {
        cpus: 3,
        limit: Some(Duration::from_secs(120)),
        more: &["-machine", "gic-version=3"],
        ..Boot::new(kernel.arch, &image, "busy 4000000000")
    };
    let (booted, ()) = monitor::with(boot, |machine| {
        machine.wait_for("all CPUs are working");
        for cpu in [0, 1, 2, 0] {
            // QEMU lets the button go after a tenth of a second of the machine's time.
            while !machine
                .command("xp /1wx 0x9030020")
                .trim()
                .ends_with("0x00000000")
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            machine.command("system_powerdown");
            machine.wait_for(&format!("interrupted on cpu {cpu} at "));
            for _ in 0..3 {
                machine.wait_for("\nend of backtrace: complete");
                // The machine ends with the last one, whose line is not whole before this.
                machine.wait_for("\n");
            }
        }
    });
    assert_eq!(Report::find_all(&booted.serial).len(), 12);
}
