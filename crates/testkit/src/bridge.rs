//! A bridge of this machine's for the containers of one engine.

use std::net::Ipv4Addr;
use std::process::Command;

/// It goes when it is dropped.
pub(crate) struct Bridge {
    name: String,
    address: Ipv4Addr,
}

impl Bridge {
    /// One that nobody else has, with an address; it leads nowhere but to this machine.
    pub(crate) fn new() -> Result<Self, String> {
        let number = std::process::id();
        // Of the networks for benchmarks (RFC 2544), so that no real one is hidden; eight addresses each.
        let [.., second, third] = (number << 3).to_be_bytes();
        let bridge = Self {
            name: format!("pm-{number}"),
            address: Ipv4Addr::new(198, 18, second, third | 1),
        };
        let (name, address) = (bridge.name.as_str(), format!("{}/29", bridge.address));
        ip(&["link", "add", name, "type", "bridge"])?;
        ip(&["address", "add", &address, "dev", name])?;
        ip(&["link", "set", name, "up"])?;
        Ok(bridge)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn address(&self) -> Ipv4Addr {
        self.address
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = ip(&["link", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|error| format!("there is no program ip: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("ip {}: {said}", arguments.join(" ")))
}
