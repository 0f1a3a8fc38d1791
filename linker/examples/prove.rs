//! Temporary.
use linker::{
    cfi::Frames,
    image::{Image, Mapped},
    prove::{Proof, unit::Found},
    symbols::Symbols,
};
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let data = Mapped::open(path.as_ref()).unwrap();
    let image = Image::parse(&data).unwrap();
    let mut frames = Frames::of(&image).unwrap_or_default();
    let symbols = Symbols::for_readers(&image.file);
    let t = std::time::Instant::now();
    let proof = Proof::of(&image, &frames, &symbols).unwrap();
    eprintln!("{:?}", t.elapsed());
    let verbose = std::env::args().nth(2);
    if let Some(what) = &verbose {
        for span in &proof.spans {
            let name = symbols.at(span.start).map_or(String::new(), |s| {
                format!(
                    "{}+{:#x}",
                    rustc_demangle::demangle(&s.name),
                    span.start - s.start
                )
            });
            let text = format!("{:?}", span.found);
            if text.contains(what.as_str()) {
                println!("{:#x}..{:#x} {name}: {text}", span.start, span.end);
                if matches!(span.found, Found::Mended(_)) {
                    println!(
                        "     was {:?}",
                        frames
                            .functions
                            .iter()
                            .find(|f| f.start <= span.start && span.start < f.end())
                            .and_then(|f| linker::prove::world::row_of(f, span.start))
                    );
                }
            }
        }
    }
    if verbose.as_deref() == Some("unreached") {
        for f in &frames.functions {
            let mut at = f.start;
            let first = proof.spans.partition_point(|s| s.end <= f.start);
            for s in proof.spans[first..]
                .iter()
                .take_while(|s| s.start < f.end())
                .chain([&linker::prove::unit::Span {
                    start: f.end(),
                    end: f.end(),
                    found: Found::Agrees,
                }])
            {
                if s.start > at {
                    println!(
                        "unreached {at:#x}..{:#x} {} of {}",
                        s.start,
                        s.start - at,
                        symbols.at(at).map_or("", |s| &s.name)
                    );
                }
                at = s.end;
            }
        }
    }
    let t = &proof.tally;
    println!(
        "{t:#?}\ndecided {} of {}: {:.3} %, handlers {:x?}",
        t.decided(),
        t.code(),
        100.0 * t.decided() as f64 / t.code() as f64,
        proof.handlers
    );
    let made = proof.mend(&image, &mut frames);
    println!("{made:?}");
    if verbose.is_none() {
        for l in frames.left_out.iter().take(30) {
            println!(
                "left {:#x} {}: {}",
                l.start,
                symbols
                    .at(l.start)
                    .map_or(String::new(), |s| s.name.clone()),
                l.why
            );
        }
    }
}
