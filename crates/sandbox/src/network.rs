//! What a sandbox reaches: a door inside, a tunnel over one stream, and a proxy on the runner's side that lets allowed hosts pass.

mod address;
mod frame;
mod gateway;
mod lookup;
mod probe;
mod proxy;
mod queue;
mod relay;
mod request;
mod rule;
mod session;
mod streams;
mod traffic;
mod tunnel;

pub use gateway::{DOOR, variables};
pub use probe::{NetworkProbe, Outside};
pub use proxy::Proxy;
pub use rule::Allowed;
pub use session::Service;
pub use streams::Connection;
pub use tunnel::{Interpreter, Tunnel};

pub(crate) use gateway::Gateway;
pub(crate) use probe::Attempt;
