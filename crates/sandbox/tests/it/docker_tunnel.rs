//! The tunnel out of a container, with services of the tests behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use sandbox::network::{Connection, Interpreter, Service, Tunnel};
use sandbox::place::Place;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::docker_support::{Engine, ask, hold_main, say};
use crate::support::eventually;

const PORT: u16 = 4000;
const BOTH: [Interpreter; 2] = [Interpreter::Python, Interpreter::Perl];

/// Sends back what comes, or, asked for by the first byte, sends without end.
#[derive(Default)]
struct Echo {
    flooded: AtomicU64,
    live: AtomicU64,
}

impl Service for Echo {
    fn serve(self: Arc<Self>, mut connection: Connection) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.live.fetch_add(1, Ordering::SeqCst);
            let _ = self.hold(&mut connection).await;
            self.live.fetch_sub(1, Ordering::SeqCst);
        })
    }
}

impl Echo {
    /// Until the connection ends.
    async fn flood(&self, connection: &mut Connection, bytes: &[u8]) -> std::io::Result<()> {
        loop {
            let written = connection.write(bytes).await?;
            self.flooded.fetch_add(written as u64, Ordering::SeqCst);
        }
    }

    async fn hold(&self, connection: &mut Connection) -> std::io::Result<()> {
        let mut buffer = vec![0; 10_000];
        let mut first = true;
        loop {
            let length = connection.read(&mut buffer).await?;
            if length == 0 {
                return connection.shutdown().await;
            }
            // Later data may begin with anything.
            if std::mem::take(&mut first) && buffer[0] == b'F' {
                self.flood(connection, &buffer).await?;
            }
            connection.write_all(&buffer[..length]).await?;
        }
    }
}

/// Python that talks to the door.
const CLIENT: &str = r#"
import os, socket, threading, hashlib
def door():
    s = socket.create_connection(("127.0.0.1", 4000))
    s.settimeout(50)
    return s
def everything(s):
    parts = []
    while True:
        part = s.recv(65536)
        if not part: return b"".join(parts)
        parts.append(part)
def there_and_back(size):
    data = b"e" + os.urandom(size)
    s = door()
    sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
    sender.start()
    same = everything(s) == data
    sender.join()
    return same
"#;

async fn python(place: &Arc<dyn Place>, text: &str) -> String {
    // The search path of these places may lead to nothing.
    let text = format!("/usr/bin/python3 -c '{CLIENT}{text}'");
    let (said, code) = say(place, &text).await;
    assert_eq!(code, Some(0), "{said}");
    said.trim_end().to_owned()
}

struct Ground {
    engine: Engine,
    place: Arc<dyn Place>,
    main: sandbox::place::Channel,
    tunnel: Tunnel,
    echo: Arc<Echo>,
}

async fn ground(interpreter: Interpreter) -> Option<Ground> {
    let engine = Engine::with("base").await?;
    let mut spec = engine.spec();
    if interpreter == Interpreter::Perl {
        let path = (String::from("PATH"), String::from("/dev/shm/only"));
        spec.environment.push(path);
    }
    let place = engine.start_as(&spec).await;
    let main = hold_main(&place).await;
    let links =
        "/bin/mkdir /dev/shm/only && /bin/ln -s /usr/bin/perl /dev/shm/only/perl; echo done";
    assert_eq!(say(&place, links).await.0, "done\n");
    let echo = Arc::new(Echo::default());
    let service: Arc<dyn Service> = echo.clone();
    let tunnel = Tunnel::open(Arc::clone(&place), PORT, service)
        .await
        .unwrap();
    assert_eq!(tunnel.interpreter(), interpreter);
    Some(Ground {
        engine,
        place,
        main,
        tunnel,
        echo,
    })
}

impl Ground {
    async fn end(self) {
        self.tunnel.close().await;
        // Its listener ends when it hears of it.
        let knock = "\ntry: door()\nexcept ConnectionRefusedError: print(\"closed\")";
        while python(&self.place, knock).await != "closed" {}
        self.engine.remove(&self.place).await;
    }
}

#[tokio::test]
async fn docker_tunnel_carries_many_connections_whole_and_both_ways() {
    for interpreter in BOTH {
        let Some(ground) = ground(interpreter).await else {
            return;
        };
        // More at once than the listener takes: the others wait for their turn.
        let text = "
results = []
threads = [threading.Thread(target=lambda: results.append(there_and_back(300000))) for _ in range(200)]
for t in threads: t.start()
for t in threads: t.join()
print(len(results), all(results), there_and_back(20000000), there_and_back(0))";
        assert_eq!(
            python(&ground.place, text).await,
            "200 True True True",
            "{interpreter:?}"
        );
        eventually("all connections end", || {
            ground.echo.live.load(Ordering::SeqCst) == 0
        })
        .await;
        ground.end().await;
    }
}

#[tokio::test]
async fn docker_tunnel_is_held_up_by_no_connection_that_nobody_reads() {
    for interpreter in BOTH {
        let Some(ground) = ground(interpreter).await else {
            return;
        };
        let text = "
flood = [door() for _ in range(20)]
for s in flood: s.sendall(b\"F\")
for s in flood: s.recv(1)
mute = door()
print(all(there_and_back(2000000) for _ in range(5)))
for s in flood: s.close()
mute.sendall(b\"e still there\")
mute.shutdown(socket.SHUT_WR)
print(everything(mute))";
        assert_eq!(
            python(&ground.place, text).await,
            "True\nb'e still there'",
            "{interpreter:?}"
        );
        // What was closed inside ends here, and no more was taken than windows and sockets hold.
        eventually("all connections end", || {
            ground.echo.live.load(Ordering::SeqCst) == 0
        })
        .await;
        let flooded = ground.echo.flooded.load(Ordering::SeqCst);
        assert!(flooded < 20 * (8 << 20), "{flooded}");
        ground.end().await;
    }
}

#[tokio::test]
async fn docker_tunnel_opens_again_and_ends_with_its_place() {
    for interpreter in BOTH {
        let Some(ground) = ground(interpreter).await else {
            return;
        };
        let open = python(
            &ground.place,
            "\ns = door()\ns.sendall(b\"e\")\nprint(s.recv(1))",
        )
        .await;
        assert_eq!(open, "b'e'");
        let mut main = ground.main;
        assert_eq!(ask(&mut main, "kill -9 -1; echo killed").await, "killed");
        let text = "
import time
began = time.monotonic()
while True:
    try:
        s = door()
        s.sendall(b\"e\")
        if s.recv(1) == b\"e\": break
    except OSError: pass
    time.sleep(0.01)
print(time.monotonic() - began)";
        let seconds: f64 = python(&ground.place, text).await.parse().unwrap();
        assert!(seconds < 10.0, "{interpreter:?}: {seconds}");
        // A place that is removed under it takes it along.
        ground.engine.remove(&ground.place).await;
        eventually("all connections end", || {
            ground.echo.live.load(Ordering::SeqCst) == 0
        })
        .await;
        ground.tunnel.close().await;
    }
}
