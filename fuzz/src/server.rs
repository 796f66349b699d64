//! The replies of an elevator server, through a real connection.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use elevator_driver::{
    Direction, FloorCount, LineSettings, MotorCommand, PanelEvent, PanelLine, PanelOutputs,
    PanelUrl,
};

const FLOORS: u8 = 4;

/// Longer than any exchange takes: the server closes the connection after its replies.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that answers with these bytes, whatever it is asked, and then closes. The line reports
/// only what the shaft has, never breaks S1, and ends disconnected.
pub(crate) fn elevator_server(replies: &[u8]) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let floors = FloorCount::new(FLOORS).expect("a count");
    let url: PanelUrl = format!("tcp://{address}").parse().expect("an address");
    let (sink, events) = sync_channel(4096);
    let replies = replies.to_vec();
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the line connects");
        answer(stream, &replies)
    });
    let poll = Duration::from_millis(1);
    let settings =
        LineSettings { poll, poll_at_rest: poll, retry: PATIENCE, ..LineSettings::default() };
    let line = PanelLine::open(&url, floors, settings, move |event| {
        sink.try_send(event).expect("few events");
    })
    .expect("a line");
    line.set_outputs(PanelOutputs {
        motor: MotorCommand::Run { direction: Direction::Up, stop_at: floors.top() },
        ..PanelOutputs::default()
    });
    loop {
        match events.recv_timeout(PATIENCE).expect("it is disconnected") {
            PanelEvent::Disconnected(_) => break,
            PanelEvent::Inputs(inputs) => {
                let mut named = inputs.floor.into_iter().chain(inputs.next_stop);
                assert!(named.all(|floor| floors.contains(floor)), "{inputs:?}");
            }
            PanelEvent::Pressed(button) => assert!(floors.has_button(button), "{button}"),
            PanelEvent::Connected
            | PanelEvent::Requested(_)
            | PanelEvent::Alarm
            | PanelEvent::Refused(_) => {}
        }
    }
    drop(line);
    assert_safe(&server.join().expect("the server"));
}

/// Answers, and returns everything that the line has written.
fn answer(mut stream: TcpStream, replies: &[u8]) -> Vec<u8> {
    // The line may have given up on the replies already.
    let sent = stream.write_all(replies).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut written = Vec::new();
    let read = stream.read_to_end(&mut written);
    drop((sent, read));
    written
}

fn assert_safe(written: &[u8]) {
    let (mut is_moving, mut is_open) = (false, false);
    for message in written.chunks_exact(4) {
        match *message {
            [1, motor, ..] => is_moving = motor != 0,
            [2, button, floor, _] => assert!(button <= 2 && floor < FLOORS, "{message:?}"),
            [3, floor, ..] => assert!(floor < FLOORS, "{message:?}"),
            [4, on, ..] => is_open = on != 0,
            [0 | 5..=9, ..] => {}
            _ => panic!("{message:?}"),
        }
        // S1
        assert!(!is_moving || !is_open, "{message:?}");
    }
    assert!(!is_moving, "the last command stops the motor");
}

/// The answers to a few rounds of polls: floor, stop switch, obstruction, ten buttons.
pub(crate) fn elevator_server_seeds() -> Vec<Vec<u8>> {
    let round = |floor: [u8; 2], pressed: u8| {
        let mut round = vec![[7, floor[0], floor[1], 0], [8, 0, 0, 0], [9, 0, 0, 0]];
        round.extend((0..10).map(|button| [6, u8::from(button == pressed), 0, 0]));
        round.concat()
    };
    let rounds = [round([1, 0], 3), round([0, 0], 99), round([1, 1], 99), round([1, 3], 0)];
    vec![rounds.concat(), round([1, 9], 0), rounds[0][..7].to_vec()]
}
