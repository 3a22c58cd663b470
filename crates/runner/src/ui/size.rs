//! Sizes for people.

/// Bytes in the largest unit that leaves at least one of it, with one digit behind the point: `1.5 GiB`.
pub fn size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes >> shift > 0);
    let Some((shift, name)) = unit else {
        return format!("{bytes} B");
    };
    let whole = bytes >> shift;
    let tenths = ((bytes >> (shift - 10)) & 0x3ff) * 10 / 1024;
    format!("{whole}.{tenths} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_cut_never_rounded_up() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            ((2 << 30) - 1, "1.9 GiB"),
            (3 << 39, "1.5 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
