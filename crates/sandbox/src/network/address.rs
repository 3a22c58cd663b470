//! Addresses that a name must not lead to: those that mean something else here than to everybody.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to one host of the public network (IANA's registries of special-purpose addresses). What carries an address of
/// version 4 within is judged by that.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_4(address),
        IpAddr::V6(address) => is_public_6(address),
    }
}

fn is_public_4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        // Shared by carriers.
        || (a == 100 && b & 0xc0 == 64)
        || (a, b, c) == (192, 0, 0)
        // For measuring.
        || (a == 198 && b & 0xfe == 18)
        // Multicast, reserved and broadcast.
        || a >= 224;
    !special
}

fn is_public_6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let within = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => within(high, low),
        // Teredo, benchmarks, documentation.
        [0x2001, 0 | 2 | 0xdb8, ..] => false,
        // All that is given out to hosts.
        [first, ..] => first & 0xe000 == 0x2000 && first & 0xfff0 != 0x3ff0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_mean_the_same_everywhere_are_public() {
        for (address, expected) in [
            ("1.1.1.1", true),
            ("172.32.0.1", true),
            ("2606:4700::1111", true),
            ("64:ff9b::101:101", true),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::127.0.0.1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("fd00::1", false),
            ("ff02::1", false),
            ("64:ff9b::7f00:1", false),
            ("2002:7f00:1::", false),
            ("2001:0:1::1", false),
            ("2001:db8::1", false),
        ] {
            let parsed = address.parse().unwrap();
            assert_eq!(is_public(parsed), expected, "{address}");
        }
    }
}
