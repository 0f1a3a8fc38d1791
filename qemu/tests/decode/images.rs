//! Images that a log is not of, or that lie elsewhere.

use super::*;

#[test]
fn a_report_of_another_image_is_left_alone() {
    let [one, other] = ["x86_64_release", "aarch64_debug"].map(|name| image(kernel(name)));
    let log = boot(&one, "panic").text();
    let ran = decode(&log, &other, &[]);
    assert_eq!(ran.text(), log);
    ran.expect_words(" is from build ");

    // An image of the same machine, so that its code is where the frames are.
    let debug = image(kernel("x86_64_debug"));
    let ran = decode(&log, &debug, &[])
        .expect(1)
        .expect_words("frames of another image were not changed");
    assert_eq!(ran.text(), log);
    let ran = decode(&log, &debug, &["--any-build"])
        .expect(0)
        .expect_words("the names in the report may be wrong");
    assert_ne!(ran.text(), log);
}

/// Without a build id, the names that the device has printed tell that the report is from another image. They are never replaced.
#[test]
fn names_of_the_device_outrank_those_of_an_image() {
    let [one, other] = ["x86_64_release", "x86_64_debug"].map(|name| image(kernel(name)));
    let log = boot(&one, "panic").text();
    let (before, rest) = log.split_once(", build ").expect("a build id");
    let (_, after) = rest.split_once(',').expect("more words");
    let log = format!("{before},{after}");
    let ran = decode(&log, &other, &[]).expect(1);
    assert_eq!(ran.text(), log);
    ran.expect_words("the report is from another image");
    // By the right image it is decoded, and the next report has nothing to do with the last.
    let decoded = decode(&log, &one, &[]).expect(0).text();
    assert_ne!(decoded, log);
    let both = format!("{}{log}", log.replace("::second+0x", "::sixth+0x"));
    let ran = decode(&both, &one, &[]).expect(1);
    assert!(ran.text().ends_with(&decoded), "{}", ran.text());
    assert!(ran.text().contains("::sixth+0x"), "{}", ran.text());
    // One line is torn in a report of this build: the others are decoded.
    let torn_log = boot(&one, "panic")
        .text()
        .replace("::second+0x", "::sixth+0x");
    let ran = decode(&torn_log, &one, &[]).expect(0);
    let frames = |text: &str| Report::find(text.as_bytes()).frames;
    let [all, torn] = [&decoded, &ran.text()].map(|text| frames(text));
    let differ: Vec<_> = all
        .iter()
        .zip(&torn)
        .filter(|(all, torn)| all != torn)
        .collect();
    assert_eq!(differ.len(), 1, "{differ:?}");
    let json = decode(&torn_log, &one, &["--json"]).expect(0).text();
    assert_eq!(json.lines().count(), all.len(), "{json}");
    assert!(!json.contains("::second"), "{json}");
    assert_eq!(
        differ[0]
            .1
            .name
            .as_deref()
            .map(|name| name.ends_with("::sixth")),
        Some(true)
    );
}

/// Of a name in Linux's style, the size tells, too, whether it is that function.
#[test]
fn a_name_of_another_size_is_another_function() {
    let path = image(kernel("x86_64_release"));
    let symbolizer = Symbolizer::open(&path).expect("the image can be read");
    let name = "kernel::scenario::panic::fifth";
    let function = symbolizer.find(name, 0).expect("it is there");
    let line = |size: u64| format!("[    1.000000]  {name}+0x4/{size:#x}\n");
    let right = line(function.size);
    assert_ne!(decode(&right, &path, &[]).text(), right);
    let wrong = line(function.size + 0x1000);
    assert_eq!(decode(&wrong, &path, &[]).text(), wrong);
}

/// A loader has put the image elsewhere: all addresses in it are others.
#[test]
fn a_report_of_a_moved_image_is_decoded() {
    const BY: u64 = 0x1234_5000;
    let image = image(kernel("x86_64_release"));
    let ran = Request::of(&image, "deep").cpus(2).run().expect(101);
    let log = ran.text();
    let moved: String = log
        .split_inclusive("0xffffffff8")
        .map(|part| part.strip_suffix("ffffffff8").unwrap_or(part))
        .enumerate()
        .map(|(at, part)| {
            let digits = (at > 0).then(|| part.split_at(7));
            let linked = digits.map(|(low, rest)| {
                let low = u64::from_str_radix(low, 16).expect("an address");
                format!("{:016x}{rest}", 0xffff_ffff_8000_0000 + low + BY)
            });
            linked.unwrap_or_else(|| part.to_owned())
        })
        .collect();
    let linked = decode(&log, &image, &[]).expect(0).text();
    let [linked, named] = [linked, decode(&moved, &image, &[]).expect(0).text()];
    // Of a kernel without names only a person knows it.
    let told = format!("{BY:#x}");
    let nameless = decode(&bare(&moved), &image, &["--moved-by", &told]).expect(0);
    let [linked, named, nameless] =
        [&linked, &named, &nameless.text()].map(|text| Report::find(text.as_bytes()));
    assert_eq!(named.frames[0].address, linked.frames[0].address + BY);
    assert!(sources_of(&linked).len() > 10);
    assert_eq!(sources_of(&named), sources_of(&linked));
    assert_eq!(sources_of(&nameless), sources_of(&linked));
    assert_eq!(offsets_of(&named), offsets_of(&linked));
    assert_eq!(offsets_of(&nameless), offsets_of(&linked));
    let lost = decode(&bare(&moved), &image, &[]).expect(0);
    lost.expect_words("use --moved-by");
    // What a report tells is of that boot, and of that build.
    let next = format!("{moved}{}", bare(&log));
    let next = decode(&next, &image, &[]).expect(0).text();
    // Each boot has a report of each CPU.
    let next = &Report::find_all(next.as_bytes())[2];
    assert_eq!(sources_of(next), sources_of(&linked));
    let (_, rest) = moved.split_once(", build ").expect("a build id");
    let foreign = moved.replacen(&rest[..8], "00000000", 1);
    let next = decode(&format!("{foreign}{}", bare(&moved)), &image, &[]);
    let last = next.expect_words("the image has build id").text();
    let last = &Report::find_all(last.as_bytes())[2];
    assert!(last.frames.len() > 10);
    assert!(
        last.frames.iter().all(|frame| frame.name.is_none()),
        "{}",
        last.text
    );
}

/// A section that says it has 64 GiB when it is unpacked.
#[test]
fn an_image_that_grows_without_bounds_is_refused() {
    let mut bytes = std::fs::read(image(kernel("x86_64_debug"))).expect("the image can be read");
    let (index, at) = {
        let file = object::File::parse(&*bytes).expect("the image is ELF");
        let section = file.section_by_name(".debug_info").expect("there is some");
        let (at, _) = section.file_range().expect("it is in the file");
        (section.index().0, at as usize)
    };
    // "ELF-64 Object File Format": where section headers begin, and the flags in one, with SHF_COMPRESSED.
    let headers = u64::from_le_bytes(*bytes[0x28..].first_chunk().expect("a header"));
    bytes[headers as usize + index * 64 + 9] |= 8;
    // ELFCOMPRESS_ZLIB; size and alignment
    bytes[at..at + 8].copy_from_slice(&1_u64.to_le_bytes());
    bytes[at + 8..at + 16].copy_from_slice(&(1_u64 << 36).to_le_bytes());
    bytes[at + 16..at + 24].copy_from_slice(&1_u64.to_le_bytes());
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), &bytes).expect("it can be written");
    run([
        "decode".as_ref(),
        "--image".as_ref(),
        file.path().as_os_str(),
    ])
    .expect(2)
    .expect_words("the compressed sections expand to 65536 MiB");
}

/// The device's lines about what is inlined into a frame whose own line is torn are all that there is of it.
#[test]
fn what_is_inlined_into_a_torn_frame_stays() {
    let image = image(kernel("aarch64_release"));
    let log = boot(&image, "exception-in-handler").text();
    let lines: Vec<&str> = log.lines().collect();
    let is_inlined = |line: &str| line.trim_start().starts_with("inlined into ");
    let first = lines.iter().position(|line| is_inlined(line));
    let first = first.expect("something is inlined");
    // The second frame that has such lines: those of the first are removed, or replaced.
    let next = (first..lines.len()).find(|at| !is_inlined(lines[*at]));
    let second = (next.expect("a frame")..lines.len()).find(|at| is_inlined(lines[*at]));
    let second = second.expect("something is inlined there, too");
    let torn = lines[second - 1].replacen(": 0x", ": 0?", 1);
    let log = log.replacen(lines[second - 1], &torn, 1);
    let decoded = decode(&log, &image, &[]).expect(0).text();
    let decoded: Vec<&str> = decoded.lines().collect();
    let at = decoded.iter().position(|line| *line == torn);
    let at = at.expect("the torn line stays");
    assert_eq!(decoded[at + 1], lines[second]);
    let all = decoded
        .iter()
        .filter(|line| line.ends_with(lines[second].trim_start()));
    assert_eq!(all.count(), 1, "{decoded:#?}");
}
