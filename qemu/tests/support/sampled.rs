//! A kernel that samples itself, on all of its CPUs: what is asked of the image of any architecture.

use std::fs;
use std::path::Path;

use base64ct::{Base64, Encoding};
use flate2::Crc;
use qemu::lines::{checked, unpacked};

use super::boots::Request;
use super::runner::{Ran, run};

/// What the kernel has counted of a CPU's samples: in the hard part, in the easy one, in none.
pub fn counted(text: &str) -> Vec<[u32; 3]> {
    let lines = text.lines().filter(|line| line.starts_with("cpu "));
    let numbers = lines.filter_map(|line| {
        let (_, counts) = line.split_once(": ")?;
        let words = counts.split(", ").map(|count| count.split(' ').next());
        let counts: Option<Vec<u32>> = words.map(|word| word?.parse().ok()).collect();
        counts?.try_into().ok()
    });
    numbers.collect()
}

fn picture(log: &Path, out: &Path, image: &Path) -> Ran {
    let words = [
        "profile".as_ref(),
        log.as_os_str(),
        out.as_os_str(),
        "--image".as_ref(),
        image.as_os_str(),
    ];
    run(words)
}

/// The log of the same image, if a loader had put it elsewhere.
fn moved(text: &str) -> String {
    const BY: u64 = 0x7_1234_5000;
    let line = |line: &str| {
        let Some(told) = checked(line.trim_end(), "profile") else {
            return line.to_owned();
        };
        let words: Vec<_> = told.split(' ').collect();
        let told = match words[..] {
            ["begin", version, arch, build, lies, rate, mark] => {
                let lies = u64::from_str_radix(&lies[2..], 16).expect("an address");
                format!(
                    "begin {version} {arch} {build} {:#018x} {rate} {mark}",
                    lies.wrapping_add(BY)
                )
            }
            ["stack", cpu, what, packed] => {
                let frames = unpacked(packed).expect("it is whole");
                let moved = frames.into_iter().map(|frame| frame.wrapping_add(BY));
                // Eight bytes of each.
                let packed =
                    moved.flat_map(|frame| [vec![8], frame.to_le_bytes().to_vec()].concat());
                let packed = Base64::encode_string(&packed.collect::<Vec<_>>());
                format!("stack {cpu} {what} {packed}")
            }
            _ => return line.to_owned(),
        };
        let mut sum = Crc::new();
        let told = format!("profile {told}");
        sum.update(told.as_bytes());
        format!("{told} {:08x}\n", sum.sum())
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Samples with this in their stacks.
fn samples_with(folded: &str, what: &str) -> u32 {
    let lines = folded.lines().filter(|line| line.contains(what));
    let counts = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u32>().ok());
    counts.sum()
}

/// Each sample is in the function that the kernel says it was in, of every CPU; and from outside it is all the same.
pub fn a_kernel_samples_itself(image: &Path) {
    // Three CPUs take their time on a busy host.
    let request = Request::of(image, "sampled").cpus(3).limit(300);
    let ran = request.run().expect(0);
    let text = ran.text();
    let counted = counted(&text);
    assert_eq!(counted.len(), 3, "{text}");
    let [hard, easy, none] = [0, 1, 2].map(|part| counted.iter().map(|it| it[part]).sum::<u32>());
    let all = hard + easy + none;
    assert!(hard > easy && easy > 0 && all >= 600, "{counted:?}");

    let folder = tempfile::tempdir().expect("a folder can be made");
    let [log, out] = ["log", "out.folded"].map(|name| folder.path().join(name));
    fs::write(&log, &ran.serial).expect("a file can be written");
    picture(&log, &out, image).expect(0).expect_words(&format!(
        "{all} samples of 3 CPUs at 100 samples per second; {all} samples have complete call stacks"
    ));
    let folded = fs::read_to_string(&out).expect("it is made");
    let functions = ["hard", "easy"].map(|name| format!(";kernel::scenario::sampled::{name}"));
    let [in_hard, in_easy] = functions.each_ref().map(|name| samples_with(&folded, name));
    // What the kernel says begins before the call and ends behind it, so a sample may be in neither function, but in the one that calls
    // them. There are few instructions there, but an emulator takes interrupts behind barriers sooner than elsewhere.
    let seen = format!("{in_hard}, {in_easy} of {all} for {hard}, {easy}, {none}: {folded}");
    assert!(in_hard <= hard && in_easy <= easy, "{seen}");
    assert!((all - in_hard - in_easy) * 100 <= all, "{seen}");
    assert_eq!(samples_with(&folded, ""), all);

    fs::write(&log, moved(&text)).expect("a file can be written");
    picture(&log, &out, image).expect(0);
    let of_moved = fs::read_to_string(&out).expect("it is made");
    assert!(of_moved == folded, "{of_moved} is not {folded}");

    // A line of it was lost on the way.
    let at = text.find("\nprofile stack").expect("a sample") + 20;
    let damaged = [&text[..at], "_", &text[at + 1..]].concat();
    fs::write(&log, damaged).expect("a file can be written");
    picture(&log, &out, image)
        .expect(1)
        .expect_words("damaged or missing lines of the profile: 1");
    let rest = fs::read_to_string(&out).expect("it is made of the others");
    assert_eq!(samples_with(&rest, ""), all - 1);
    // Without the first line of a CPU's, nobody knows of what image its samples are.
    fs::write(&log, text.replacen("profile begin", "profile begi", 1)).expect("a file");
    picture(&log, &out, image).expect(1);
    let others = fs::read_to_string(&out).expect("it is made of the others");
    let expected: u32 = counted[1..].iter().flatten().sum();
    assert_eq!(samples_with(&others, ""), expected);
    fs::write(&out, &rest).expect("a file can be written");
    let begin = text.find("profile begin").expect("a begin");
    fs::write(&log, &text[..begin]).expect("a file can be written");
    picture(&log, &out, image)
        .expect(2)
        .expect_words("contains no samples sent by a kernel");
    assert_eq!(fs::read_to_string(&out).expect("it is there"), rest);
}
