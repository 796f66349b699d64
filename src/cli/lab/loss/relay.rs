//! Passes on datagrams and connections, less what gets lost, and later.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{LossError, say};

/// How long a connection is held up by a lost packet, which the system would send again.
const SENT_AGAIN: Duration = Duration::from_millis(200);

/// Senders of datagrams whose answers find their way back; more make the relay forget all of them.
const SENDERS: usize = 256;

/// Datagrams on their way; further ones are lost.
const HELD_UP: usize = 4096;

#[derive(Debug, Clone, Copy)]
pub(super) struct Relay {
    from: SocketAddr,
    to: SocketAddr,
}

pub(super) fn parse(text: &str) -> Result<Relay, String> {
    let (from, to) = text.split_once('=').ok_or("use FROM=TO, such as 15001=127.0.0.1:15000")?;
    let port = from.parse().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let from = port.or_else(|_| from.parse()).map_err(|_| "FROM is a port or IP:PORT")?;
    Ok(Relay { from, to: to.parse().map_err(|_| "TO is IP:PORT")? })
}

#[derive(Debug)]
struct Fate {
    percent: u8,
    delay: Duration,
    all: AtomicU64,
    lost: AtomicU64,
}

impl Fate {
    fn is_lost(&self) -> bool {
        let is_lost = fastrand::u8(0..100) < self.percent;
        self.all.fetch_add(1, Ordering::Relaxed);
        self.lost.fetch_add(u64::from(is_lost), Ordering::Relaxed);
        is_lost
    }
}

/// Relays until it is over; returns what it did.
pub(super) fn run(
    relays: &[Relay],
    percent: u8,
    delay: Duration,
    is_over: impl Fn() -> bool,
) -> Result<String, LossError> {
    let fate = Fate { percent, delay, all: AtomicU64::new(0), lost: AtomicU64::new(0) };
    let fate = Arc::new(fate);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for Relay { from, to } in relays.iter().copied() {
            let failed = |source| LossError::Listen { address: from, source };
            let datagrams = UdpSocket::bind(from).await.map_err(failed)?;
            let connections = TcpListener::bind(from).await.map_err(failed)?;
            tasks.spawn(relay_datagrams(Arc::new(datagrams), to, Arc::clone(&fate)));
            tasks.spawn(relay_connections(connections, to, Arc::clone(&fate)));
            say(&format!("{from} is relayed to {to}: {percent} % lost, {delay:?} late\n"));
        }
        while !is_over() {
            sleep(Duration::from_millis(50)).await;
        }
        let [all, lost] = [&fate.all, &fate.lost].map(|count| count.load(Ordering::Relaxed));
        Ok(format!("ended: {lost} of {all} packets were lost\n"))
    })
}

async fn relay_datagrams(socket: Arc<UdpSocket>, to: SocketAddr, fate: Arc<Fate>) {
    let mut senders: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
    let mut tasks = JoinSet::new();
    let mut buffer = vec![0; 65_536];
    loop {
        // An error says that an earlier datagram found nobody.
        let Ok((length, sender)) = socket.recv_from(&mut buffer).await else { continue };
        if !senders.contains_key(&sender) {
            if senders.len() >= SENDERS {
                senders.clear();
                tasks.abort_all();
            }
            let Ok(upstream) = open(to).await.map(Arc::new) else { continue };
            let back = (Arc::clone(&socket), sender);
            tasks.spawn(relay_answers(Arc::clone(&upstream), back, Arc::clone(&fate)));
            senders.insert(sender, upstream);
        }
        let upstream = Arc::clone(&senders[&sender]);
        send(&mut tasks, &fate, (upstream, to), &buffer[..length]);
    }
}

/// A socket that may send to a broadcast address.
async fn open(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr =
        if to.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.set_broadcast(true)?;
    Ok(socket)
}

async fn relay_answers(from: Arc<UdpSocket>, to: (Arc<UdpSocket>, SocketAddr), fate: Arc<Fate>) {
    let mut tasks = JoinSet::new();
    let mut buffer = vec![0; 65_536];
    loop {
        if let Ok((length, _)) = from.recv_from(&mut buffer).await {
            send(&mut tasks, &fate, to.clone(), &buffer[..length]);
        }
    }
}

/// Sends a datagram later, unless it is lost.
fn send(tasks: &mut JoinSet<()>, fate: &Fate, to: (Arc<UdpSocket>, SocketAddr), bytes: &[u8]) {
    while tasks.try_join_next().is_some() {}
    if fate.is_lost() || tasks.len() >= HELD_UP {
        return;
    }
    let (delay, bytes, (socket, to)) = (fate.delay, bytes.to_vec(), to);
    tasks.spawn(async move {
        sleep(delay).await;
        // A datagram may get lost.
        drop(socket.send_to(&bytes, to).await);
    });
}

async fn relay_connections(listener: TcpListener, to: SocketAddr, fate: Arc<Fate>) {
    let mut tasks = JoinSet::new();
    loop {
        let accepted = listener.accept().await;
        while tasks.try_join_next().is_some() {}
        match accepted {
            Ok((client, _)) => drop(tasks.spawn(relay_connection(client, to, Arc::clone(&fate)))),
            Err(_) => sleep(SENT_AGAIN).await,
        }
    }
}

async fn relay_connection(client: TcpStream, to: SocketAddr, fate: Arc<Fate>) -> io::Result<()> {
    let server = TcpStream::connect(to).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    tokio::try_join!(pass(from_client, to_server, &fate), pass(from_server, to_client, &fate))?;
    Ok(())
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    fate: &Fate,
) -> io::Result<()> {
    let mut buffer = vec![0; 16_384];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        let again = if fate.is_lost() { SENT_AGAIN } else { Duration::ZERO };
        sleep(fate.delay + again).await;
        to.write_all(&buffer[..length]).await?;
    }
}
