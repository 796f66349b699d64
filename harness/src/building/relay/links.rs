//! The links of the relay: two threads for each connection, one for each direction.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use super::namespace::Namespace;
use super::{LOOK_EVERY, Shared, chance, corrupt, count, delay, happens};

/// How many connections the system may hold before they are accepted.
const BACKLOG: i32 = 64;

/// How long a lost piece of a stream takes until it has been sent again.
const RETRANSMISSION: Duration = Duration::from_millis(200);

/// How much of a stream is passed on at a time.
const PIECE: usize = 16 * 1024;

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// Accepts the connections from one node to another, and connects each with the other one.
pub(super) fn accept(
    from: &Namespace,
    to: &Namespace,
    port: u16,
    shared: Arc<Shared>,
) -> io::Result<JoinHandle<()>> {
    let (source, target) = (from.address, SocketAddrV4::new(to.address, port));
    let listener = from.make_here(|| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_read_timeout(Some(LOOK_EVERY))?;
        socket.bind(&SocketAddr::from(target).into())?;
        socket.listen(BACKLOG)?;
        Ok(socket)
    })?;
    let (pair, there) = ((from.number, to.number), to.entrance()?);
    Ok(thread::spawn(move || {
        there.enter().expect("the receiver's namespace");
        let mut pumps = Vec::new();
        while !shared.ends() {
            pumps.retain(|pump: &JoinHandle<()>| !pump.is_finished());
            // None came within the limit.
            let Ok((near, _)) = listener.accept() else { continue };
            let far = connect(SocketAddrV4::new(source, 0), target);
            let pumped = far.and_then(|far| pump(near.into(), far, pair, &shared));
            // Where nobody listens, the connection ends.
            pumps.extend(pumped.into_iter().flatten());
        }
        for pump in pumps {
            // Its panic was reported where it happened.
            drop(pump.join());
        }
    }))
}

fn connect(from: SocketAddrV4, to: SocketAddrV4) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from(from).into())?;
    socket.connect_timeout(&SocketAddr::from(to).into(), CONNECT_LIMIT)?;
    Ok(socket.into())
}

/// Passes on what both ends of a connection send.
fn pump(
    near: TcpStream,
    far: TcpStream,
    (from, to): (u8, u8),
    shared: &Arc<Shared>,
) -> io::Result<[JoinHandle<()>; 2]> {
    count(&shared.counts.links);
    for stream in [&near, &far] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        stream.set_write_timeout(Some(LOOK_EVERY))?;
    }
    let (near_too, far_too) = (near.try_clone()?, far.try_clone()?);
    let (shared, shared_too) = (Arc::clone(shared), Arc::clone(shared));
    Ok([
        thread::spawn(move || pass(near, far, (from, to), &shared)),
        thread::spawn(move || pass(far_too, near_too, (to, from), &shared_too)),
    ])
}

/// Passes on one direction until either end has closed the connection, or it is broken.
fn pass(mut from: TcpStream, mut to: TcpStream, pair: (u8, u8), shared: &Shared) {
    let mut random = chance(pair.0, pair.1);
    let mut buffer = vec![0; PIECE];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if is_late(&error) && !shared.ends() => continue,
            Err(_) => break,
        };
        let piece = &mut buffer[..length];
        let weather = shared.weather();
        count(&shared.counts.pieces);
        let mut pause = delay(&mut random, &weather);
        if happens(&mut random, weather.loss) {
            pause += RETRANSMISSION;
        }
        if happens(&mut random, weather.corruption) {
            count(&shared.counts.corrupted_pieces);
            corrupt(&mut random, piece);
        }
        let due = Instant::now() + pause;
        while !shared.ends() && (shared.is_cut(pair.0, pair.1) || Instant::now() < due) {
            let left = due.saturating_duration_since(Instant::now());
            thread::sleep(if left.is_zero() { LOOK_EVERY } else { left });
        }
        if write(&mut to, piece, shared).is_err() {
            break;
        }
    }
    // One that has ended already can't be ended.
    drop(to.shutdown(Shutdown::Write));
    drop(from.shutdown(Shutdown::Read));
}

fn write(to: &mut TcpStream, mut piece: &[u8], shared: &Shared) -> io::Result<()> {
    while !piece.is_empty() {
        match to.write(piece) {
            Ok(written) => piece = &piece[written..],
            Err(error) if is_late(&error) && !shared.ends() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
