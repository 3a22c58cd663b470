//! Finding the addresses of names: as they are written, and no more at once than there are threads for.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a name may take to be found, the wait for a turn included.
const LIMIT: Duration = Duration::from_secs(15);
/// Names that are looked up at once for one sandbox, and for all of this process: each takes a thread until the system gives up, which may be long after
/// everybody else has.
const OF_ONE: usize = 4;
const OF_ALL: usize = 64;
/// Names that this machine's owner gave addresses.
const HOSTS: &str = "/etc/hosts";

static ALL: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(OF_ALL)));

/// The system's way to find addresses, which blocks.
type Find = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// The lookups of one sandbox.
pub(super) struct Lookups {
    own: Arc<Semaphore>,
    find: Arc<Find>,
    limit: Duration,
}

impl Lookups {
    pub(super) fn new() -> Self {
        Self::with(Arc::new(system), LIMIT)
    }

    fn with(find: Arc<Find>, limit: Duration) -> Self {
        Self {
            own: Arc::new(Semaphore::new(OF_ONE)),
            find,
            limit,
        }
    }

    /// The addresses of a name.
    pub(super) async fn addresses(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let found = async {
            let turns = [turn(&self.own).await?, turn(&ALL).await?];
            let (find, name) = (Arc::clone(&self.find), name.to_owned());
            let work = move || {
                // A lookup that nobody waits for any more still has its turn.
                let _turns = turns;
                find(&name, port)
            };
            let found = tokio::task::spawn_blocking(work).await;
            found.map_err(io::Error::other)?
        };
        timeout(self.limit, found).await.unwrap_or_else(|_| {
            let seconds = self.limit.as_secs();
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no answer within {seconds} s"),
            ))
        })
    }
}

async fn turn(of: &Arc<Semaphore>) -> io::Result<OwnedSemaphorePermit> {
    Arc::clone(of)
        .acquire_owned()
        .await
        .map_err(io::Error::other)
}

/// What the machine's own file says, else what its resolver does.
fn system(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let hosts = std::fs::read_to_string(HOSTS).unwrap_or_default();
    let listed = listed(&hosts, name);
    if listed.is_empty() {
        return Ok((absolute(name).as_str(), port).to_socket_addrs()?.collect());
    }
    let with_port = |address| SocketAddr::new(address, port);
    Ok(listed.into_iter().map(with_port).collect())
}

/// With the dot at its end it is the name itself, never one below the domains that this machine searches. In files no name has one.
fn absolute(name: &str) -> String {
    format!("{}.", name.trim_end_matches('.'))
}

/// The addresses of a name in a file such as `/etc/hosts`.
fn listed(hosts: &str, name: &str) -> Vec<IpAddr> {
    let lines = hosts.lines().filter_map(|line| {
        let (line, _) = line.split_once('#').unwrap_or((line, ""));
        let mut words = line.split_ascii_whitespace();
        let address = words.next()?.parse().ok()?;
        words
            .any(|word| word.eq_ignore_ascii_case(name))
            .then_some(address)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_name_is_looked_for_as_it_is_written() {
        assert_eq!(absolute("example.org"), "example.org.");
        assert_eq!(absolute("single"), "single.");
        let hosts = "127.0.0.1 localhost\n# 9.9.9.9 remark\n10.0.0.7\tbox.example BOX # box2\nbroken box\n::1 ip6 localhost\n";
        let found = |name: &str| -> Vec<String> {
            listed(hosts, name)
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        assert_eq!(found("localhost"), ["127.0.0.1", "::1"]);
        assert_eq!(found("box"), ["10.0.0.7"]);
        assert!(found("box2").is_empty());
        assert!(found("remark").is_empty());
    }

    #[tokio::test]
    async fn the_systems_own_names_are_found() {
        let found = Lookups::new().addresses("localhost", 80).await.unwrap();
        assert!(
            found.iter().all(|found| found.ip().is_loopback()),
            "{found:?}"
        );
        assert!(found.iter().all(|found| found.port() == 80), "{found:?}");
        assert!(!found.is_empty());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn lookups_that_never_end_take_no_more_threads_than_there_are_turns() {
        let (began, begun) = channel();
        let (end, ends) = channel::<()>();
        let (began, ends) = (Mutex::new(began), Arc::new(Mutex::new(ends)));
        let stuck: Arc<Find> = {
            let ends = Arc::clone(&ends);
            Arc::new(move |name: &str, _| {
                let _ = began.lock().unwrap().send(name.to_owned());
                let _ = ends.lock().unwrap().recv();
                Ok(Vec::new())
            })
        };
        let lookups = Lookups::with(stuck, Duration::from_millis(500));
        let asked = (0..3 * OF_ONE).map(|_| lookups.addresses("name", 80));
        for found in futures_util::future::join_all(asked).await {
            let error = found.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
        // Nobody waits any more, and there are still no more.
        assert!(lookups.addresses("name", 80).await.is_err());
        assert_eq!(begun.try_iter().count(), OF_ONE);
        drop(end);
        // Once they end, others begin.
        assert!(lookups.addresses("name", 80).await.unwrap().is_empty());
    }
}
