//! The expressions, and better words for each.

use std::fmt::Write as _;

use regex::Regex;

use super::Text;

/// The beginning of a sentence.
const BEGIN: &str = "(?:^|[.:;?!] )";

/// A name, the expression, what of its matches is right, and better words.
const PATTERNS: [(&str, &str, &str, &str); 27] = [
    (
        "D01",
        "BEGIN What [a-z`_]+(?: new)?",
        "What (?:follows|is new)",
        "begin with the subject: not `What leads there is ...`, but `A jump leads there`",
    ),
    (
        "D02",
        "^That [a-z]+",
        "That (?:is|takes|of|was|one)$",
        "begin with a verb or a noun: `Checks that ...`, `Proof that ...`",
    ),
    (
        "D03",
        r"\bso (?:many|few)\b",
        "",
        "`N`, `count`, or the parameter's name",
    ),
    (
        "D04",
        r"\bof (?:which|whom)\b",
        "",
        "`whose`, `in which`, or a sentence of its own",
    ),
    (
        "D05",
        r"\b(?:tells?|told|telling)\b",
        "",
        "`shows`, `records`, `passes`, `distinguishes`, `states`",
    ),
    (
        "D06",
        r"\b(?:says?|said|saying)\b",
        "",
        "`contains`, `states`, `reports`, `guarantees`, `returns`",
    ),
    ("D07", r"\b(?:those|that) of\b", "", "repeat the noun"),
    (
        "D08",
        r"(?:[Tt]here )?\b(?:is|are|was|were) (?:no|none)\b(?: longer| more| such)?",
        "^[Tt]here |(?: longer| more| such)$",
        "`is not a`, `has no`, `does not`",
    ),
    (
        "D09",
        r"\b(?:[Nn]obody|[Ss]omebody|[Ww]hoever|[Ee]verybody|[Ww]ho)\b",
        "",
        "name the caller, the user, the CPU, the linker",
    ),
    (
        "D10",
        r"\bask(?:s|ed|ing)?\b",
        "",
        "`queries`, `requests`, `samples`, `calls`",
    ),
    ("D11", r"\bbehind\b", "", "`after`, `following`"),
    (
        "D12",
        r"\b(?:go|goes|went|gone|going|walk|walks|walked|unwound) by\b",
        "",
        "`uses`, `with`",
    ),
    (
        "D13",
        r"\b(?:go|goes|went|gone|going) on\b",
        "",
        "`continues`",
    ),
    (
        "D14",
        r"\b(?:let run|lets run)\b|^Ha(?:s|ve) (?:the|this|a|an|it|QEMU|traces|reports|these|all|every|`)",
        "",
        "`runs without single-stepping`, `makes`, `causes`",
    ),
    (
        "D15",
        r"BEGIN Of (?:a|an|the|several|each|such|what|these|those|two|all|any|one|others|it|[a-z]+s|`)",
        "",
        "begin with the subject: `If there are several, ...`",
    ),
    (
        "D16",
        r"\b(?:all|each|nothing|none|any|every|but) but (?:for|the|at|in|one|those|what|its|that)\b|\bbut for\b",
        "",
        "`except`",
    ),
    (
        "D17",
        "^(?:The same|As above|As below|The others?)\\b",
        "",
        "name the thing, and how it differs",
    ),
    (
        "D18",
        r"\b(?:is|are|be|was|were) (?:another|others)\b|\banother one\b",
        "",
        "`differs`",
    ),
    (
        "D19",
        r"\b(?:where|that|which|as) there (?:is|are|was|were)\b",
        "",
        "`if there is`, or a direct statement",
    ),
    (
        "D20",
        r"\b(?:lies|lie|lay)\b(?: on purpose)?",
        "on purpose$",
        "`is at`, `is located in`, `follows`",
    ),
    (
        "D21",
        r"\b(?:the one|one that|one which|that one|this one|another one)\b",
        "",
        "repeat the noun",
    ),
    ("D22", r"\brooms?\b", "", "`space`, `capacity`, `component`"),
    (
        "D23",
        r"\b(?:[Ww]hatever|[Ww]herever|[Ww]hichever)\b",
        "",
        "`any`, `if`, or name the thing",
    ),
    (
        "D24",
        r"\b(?:in place of|beside|anew|for ever|at last|whereupon)\b",
        "",
        "`instead of`, `in addition to`, `next to`, `again`, `forever`",
    ),
    (
        "D25",
        r"[a-z`)]: (?:it|they|then|there|that|what|this|so|its|those|these|nobody|nothing|none|where|who|no)\b",
        "",
        "`because`, `so that`, `if`, or two sentences",
    ),
    (
        "D26",
        r"^(?:It|They|Its|Their|Those|These|Others|One)\b",
        "",
        "begin with the noun",
    ),
    (
        "D27",
        r"\b(?:(?:be|is|was) had|held? (?:\w+ ){0,4}against|holds (?:\w+ ){0,4}against|mend(?:s|ed|ing)?|withdraw(?:n|s)?)\b",
        "",
        "`is available`, `compares with`, `corrects`, `removes`",
    ),
];

#[derive(Debug)]
struct Pattern {
    id: &'static str,
    regex: Regex,
    except: Option<Regex>,
    better: &'static str,
}

#[derive(Debug)]
pub(crate) struct Patterns(Vec<Pattern>);

impl Patterns {
    pub(crate) fn new() -> Self {
        let patterns = PATTERNS.map(|(id, regex, except, better)| Pattern {
            id,
            regex: Regex::new(&regex.replace("BEGIN ", BEGIN)).expect("a pattern"),
            except: (!except.is_empty()).then(|| Regex::new(except).expect("a pattern")),
            better,
        });
        Self(patterns.into())
    }

    /// The hits in the texts of a file.
    pub(crate) fn count(&self, texts: &[Text]) -> usize {
        texts.iter().map(|text| self.hits(text).count()).sum()
    }

    /// Lists the hits in the texts of a file, with better words.
    pub(crate) fn list(&self, file: &str, texts: &[Text]) -> String {
        let mut list = String::new();
        for text in texts {
            for (pattern, hit) in self.hits(text) {
                let (id, better) = (pattern.id, pattern.better);
                let line = text.line;
                let _ = writeln!(list, "  {file}:{line}: {id} \"{hit}\": better: {better}");
            }
        }
        list
    }

    fn hits<'a>(&'a self, text: &'a Text) -> impl Iterator<Item = (&'a Pattern, &'a str)> {
        self.0.iter().flat_map(|pattern| {
            let hits = pattern.regex.find_iter(&text.text);
            let hits = hits.map(|hit| {
                hit.as_str()
                    .trim_start_matches(['.', ':', ';', '?', '!', ' '])
            });
            let hits = hits.filter(|hit| {
                !(pattern.except.as_ref()).is_some_and(|except| except.is_match(hit))
            });
            hits.map(move |hit| (pattern, hit))
        })
    }
}

#[test]
fn exceptions_are_no_hits() {
    let patterns = Patterns::new();
    for (text, count) in [
        ("What is new is here.", 0),
        ("It ends. What remains is here.", 2),
        ("That is right.", 0),
        ("That rows agree.", 1),
        ("It checks: there is no row, and it is no longer there.", 2),
        ("The word is no address.", 1),
        ("Its directives lie on purpose. A row lies.", 2),
    ] {
        let texts = [Text {
            line: 1,
            text: text.to_owned(),
        }];
        assert_eq!(
            patterns.count(&texts),
            count,
            "{}",
            patterns.list("file", &texts)
        );
    }
}
