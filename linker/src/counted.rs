//! Numbers of things, in the words of a message.

/// A count and its noun: "1 function", "2 functions".
pub(crate) fn counted(count: impl TryInto<u64>, one: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let ending = match (count, one.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {one}{ending}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_thing_is_singular() {
        let words = |count: u64| [counted(count, "row"), counted(count, "address")].join(", ");
        let expected = [
            "0 rows, 0 addresses",
            "1 row, 1 address",
            "2 rows, 2 addresses",
        ];
        assert_eq!([0, 1, 2].map(words), expected);
    }
}
