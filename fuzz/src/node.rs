//! One node, and any sequence of what can happen to it.
//!
//! The bytes are a script: [`draw`] makes messages of them, this file the events. The panel, the disk
//! and the clock behave as their interfaces promise; the peers do not behave at all. After each
//! event [`Watch`] checks what has to hold of a single node at any moment.

mod draw;
mod watch;

use std::collections::VecDeque;
use std::time::Duration;

use arbitrary::{Result, Unstructured};
use elevator_driver::{FloorCount, PanelEvent};
use elevator_fleet::car::CarSettings;
use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::dispatch::{Kinematics, Strategy, WeekTime};
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::{Mac, Mode, Role, Term, Timestamp};
use elevator_fleet::node::{
    Access, Action, CallRequest, Command, Identity, LinkId, LinkSide, Lsn, MeshTimes, Node,
    NodeSettings, PlanRequest, Requested, Restored, Taken,
};
use elevator_fleet::settings::RequestId;
use elevator_fleet::wire::Protocol;
use elevator_fleet::wire::codec::WireError;

use self::draw::{ADDRESS, Draw, NONCE, SELF};
use self::watch::Watch;
use crate::wire::{fleet, node as name};

/// The most events of a script.
const MOST_EVENTS: usize = 300;

/// Who commands.
const OPERATOR: &str = "fuzz";

/// How many plans may be asked for and not made yet.
const MOST_PLANS: usize = 8;

/// A script of events.
pub(crate) fn node(bytes: &[u8]) {
    match run(&mut Unstructured::new(bytes)) {
        // A script that ends in the middle of an event has been run up to there.
        Ok(()) | Err(_) => {}
    }
}

fn run(script: &mut Unstructured<'_>) -> Result<()> {
    let mut stage = Stage::new(script)?;
    for _ in 0..MOST_EVENTS {
        if script.is_empty() {
            break;
        }
        stage.step(script)?;
    }
    watch::check_status(&stage.node, stage.now);
    stage.node.shut_down(stage.now);
    stage.settle();
    watch::check_stopped(&stage.node);
    Ok(())
}

/// Scripts that say anything.
pub(crate) fn node_seeds() -> Vec<Vec<u8>> {
    let script = |number: u64| {
        let mut state = number;
        let byte = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(byte).take(1500).collect()
    };
    (1..=16).map(script).collect()
}

struct Stage {
    node: Node,
    draw: Draw,
    watch: Watch,
    now: Timestamp,
    /// Batches that are not on disk yet.
    writing: VecDeque<Lsn>,
    disk_works: bool,
    asked: VecDeque<PlanRequest>,
    links: u64,
    is_connected: bool,
}

impl Stage {
    fn new(script: &mut Unstructured<'_>) -> Result<Self> {
        let floors = FloorCount::new(script.int_in_range(2..=8)?).expect("a count");
        let protocol = *script.choose(&Protocol::ALL)?;
        let draw = Draw::new(floors, protocol);
        let has_car = script.ratio(7_u8, 8)?;
        let mut records = Vec::new();
        for _ in 0..script.int_in_range(0..=3)? {
            records.push(draw.record(script, None)?);
        }
        let restored = Restored {
            term: Term(script.int_in_range(0..=3)?),
            records,
            flight_times: Vec::new(),
            settings: Vec::new(),
        };
        let watch = Watch::new(floors, &restored);
        let mut node = Node::new(NodeSettings {
            identity: Identity {
                fleet: fleet(),
                node: name(SELF),
                address: ADDRESS,
                mac: Mac::of(ADDRESS),
                role: if has_car {
                    Role::Cabin
                } else {
                    *script.choose(&[Role::Indicator, Role::ControlUnit])?
                },
                link_port: 46_000,
                nonce: NONCE,
            },
            election: ElectionSettings::preset(protocol, *script.choose(&Preset::ALL)?),
            floors,
            mesh: MeshTimes::default(),
            car: has_car.then(|| CarSettings::new(floors)),
            climate: ClimateSettings::default(),
            restored,
            seed: script.arbitrary()?,
        });
        let now = Timestamp::START;
        node.start(now);
        let mut stage = Self {
            node,
            draw,
            watch,
            now,
            writing: VecDeque::new(),
            disk_works: true,
            asked: VecDeque::new(),
            links: 0,
            is_connected: false,
        };
        stage.settle();
        Ok(stage)
    }

    /// The next event of the script.
    fn step(&mut self, script: &mut Unstructured<'_>) -> Result<()> {
        match script.int_in_range(0..=26_u8)? {
            0..=5 => self.pass_time(script)?,
            6..=9 => {
                let (from, beacon) = self.draw.beacon(script, &self.node)?;
                self.watch.hear_beacon(&beacon, &self.node);
                self.node.handle_beacon(from, &beacon, self.now);
                self.watch.hear_beacon(&beacon, &self.node);
            }
            10 | 11 => {
                let link = LinkId(script.int_in_range(0..=self.links)?);
                let frame = self.draw.frame(script, &self.node)?;
                self.watch.hear_frame(&frame, &self.node);
                self.node.handle_frame(link, frame.clone(), self.now);
                self.watch.hear_frame(&frame, &self.node);
            }
            12 => {
                self.links += 1;
                let peer = self.draw.hello(script)?;
                let side = *script.choose(&[LinkSide::Dialled, LinkSide::Accepted])?;
                self.node.handle_link_up(LinkId(self.links), &peer, side, self.now);
            }
            13 => {
                let link = LinkId(script.int_in_range(0..=self.links)?);
                if script.arbitrary()? {
                    self.node.handle_link_down(link, self.now);
                } else {
                    self.node.handle_malformed(link, self.now);
                }
            }
            14 => {
                let peer = draw::peer(script)?;
                self.node.handle_dial_failed(&peer, self.now);
            }
            15..=18 => self.panel(script)?,
            19 => {
                let call = self.draw.call(script)?;
                // A call that is refused is none.
                drop(self.node.handle_order(&call, self.now));
            }
            20 => self.disk(script)?,
            21 => {
                if let Some(request) = self.asked.pop_front() {
                    let strategy = *script.choose(&Strategy::ALL)?;
                    let floors = self.node.hello().floors;
                    let kinematics = Kinematics::default();
                    let mut dispatcher = strategy.dispatcher(kinematics, floors, 8.0, 80);
                    let plan = request.plan(&mut *dispatcher, &kinematics);
                    self.node.handle_plan(request.version, plan, self.now);
                }
            }
            22 => {
                let from = draw::any_address(script)?;
                let length = script.int_in_range(0..=12)?;
                let packet = script.bytes(length)?;
                self.node.handle_packet(from, packet, self.now);
            }
            23..=25 => self.command(script)?,
            _ => self.rarity(script)?,
        }
        self.settle();
        Ok(())
    }

    /// Somebody commands something at this node, or a program asks for a call. What is refused changes
    /// nothing.
    fn command(&mut self, script: &mut Unstructured<'_>) -> Result<()> {
        let car = if script.arbitrary()? { name(SELF) } else { draw::peer(script)? };
        let (floor, on) = (self.draw.floor(script)?, script.arbitrary::<bool>()?);
        let (node, now) = (&mut self.node, self.now);
        let before = node.settings().digest();
        let is_done = match script.int_in_range(0..=8_u8)? {
            0 => {
                let mode = *script.choose(&Mode::ALL)?;
                let command = Command::Mode { car: car.clone(), mode };
                let is_set = node.handle_command(command, OPERATOR, now).is_ok();
                assert!(!is_set || node.settings().mode(&car) >= mode, "others may hold as well");
                is_set
            }
            1 => {
                let command =
                    Command::Priority { car: on.then(|| car.clone()), floor: Some(floor) };
                let sent = node.handle_command(command, OPERATOR, now);
                sent.inspect(|sent| {
                    // One for any car may be passed on at once, and a car that its key switch has
                    // recalled does without.
                    let shown = node.status(now).car;
                    let is_recalled = shown.is_some_and(|it| it.view.mode >= Mode::EmergencyPower);
                    let Command::Priority { car: Some(car), .. } = sent else {
                        panic!("{sent:?} has no car");
                    };
                    let mut calls = node.settings().priorities();
                    let holds = calls.any(|(by, it)| it.floor == floor && (by == car || it.any));
                    let all: Vec<_> = node.settings().priorities().collect();
                    let is_over = is_recalled && *car == name(SELF);
                    assert!(holds || is_over, "{car} is sent to {floor}, and there are {all:?}");
                })
                .is_ok()
            }
            2 => {
                let command = Command::Priority { car: Some(car.clone()), floor: None };
                let is_ended = node.handle_command(command, OPERATOR, now).is_ok();
                assert!(!is_ended || node.settings().priority(&car).is_none());
                is_ended
            }
            3 => {
                let car = script.arbitrary::<bool>()?.then_some(car);
                let command = Command::EmergencyPower { on, car };
                let is_set = node.handle_command(command, OPERATOR, now).is_ok();
                assert!(!is_set || node.settings().emergency_power().is_some() == on);
                is_set
            }
            4 => {
                let command = Command::FireRecall { on };
                let is_set = node.handle_command(command, OPERATOR, now).is_ok();
                assert!(!is_set || node.settings().is_fire_recalled() == on);
                is_set
            }
            5 => {
                let command = Command::FloorLock { floor, locked: on };
                let is_set = node.handle_command(command, OPERATOR, now).is_ok();
                assert!(!is_set || node.settings().is_locked(floor) == on);
                is_set
            }
            6 => {
                let request = CallRequest {
                    id: RequestId { owner: 0, request: script.int_in_range(0..=3)? },
                    bearer: "somebody".to_owned(),
                    call: self.draw.call(script)?,
                    access: *script.choose(&[Access::Public, Access::Granted])?,
                };
                let first = node.handle_request(&request, now);
                // Nothing is placed twice for a request that is repeated at once.
                if let Ok(Requested::Now(Taken::Placed | Taken::Absorbed)) = first
                    && node.earlier(&request).is_some()
                {
                    let again = node.handle_request(&request, now);
                    assert!(matches!(again, Ok(Requested::Before(_))), "{again:?}");
                }
                first.is_ok()
            }
            7 => {
                let time = Duration::from_millis(script.int_in_range(0..=70_000)?);
                node.handle_release(floor, time, now).is_ok()
            }
            _ => {
                let seconds = script.arbitrary()?;
                node.handle_local_time(WeekTime::of_unix(seconds, script.arbitrary()?), now);
                true
            }
        };
        assert!(is_done || node.settings().digest() == before, "what is refused changes nothing");
        Ok(())
    }

    fn pass_time(&mut self, script: &mut Unstructured<'_>) -> Result<()> {
        let millis = script.choose(&[0, 1, 5, 25, 60, 200, 1000, 4000, 11_000])?;
        self.now = match self.node.poll_timeout() {
            // Exactly when it wants to be woken.
            Some((at, _)) if *millis == 5 => at.max(self.now),
            Some(_) | None => self.now + Duration::from_millis(*millis),
        };
        self.node.handle_timeout(self.now);
        // What it says is due is done: otherwise the process spins.
        for again in 0.. {
            let Some((at, timer)) = self.node.poll_timeout() else {
                break;
            };
            if at > self.now {
                break;
            }
            assert!(again < 20, "{timer:?} is due for ever");
            self.settle();
            self.node.handle_timeout(self.now);
        }
        Ok(())
    }

    fn panel(&mut self, script: &mut Unstructured<'_>) -> Result<()> {
        let event =
            if self.is_connected { self.draw.panel_event(script)? } else { PanelEvent::Connected };
        // Inputs follow at once, as of any back end.
        let inputs = match &event {
            PanelEvent::Connected => Some(PanelEvent::Inputs(self.draw.inputs(script)?)),
            _ => None,
        };
        for event in [Some(event), inputs].into_iter().flatten() {
            match &event {
                PanelEvent::Connected => self.is_connected = true,
                PanelEvent::Disconnected(_) => self.is_connected = false,
                _ => {}
            }
            self.watch.see_panel(&event);
            self.node.handle_panel(event, self.now);
            self.settle();
        }
        Ok(())
    }

    fn disk(&mut self, script: &mut Unstructured<'_>) -> Result<()> {
        let count = script.int_in_range(0..=self.writing.len())?;
        if let Some(lsn) = self.writing.drain(..count).next_back()
            && self.disk_works
        {
            self.watch.write(lsn);
            self.node.handle_durable(lsn, self.now);
        }
        Ok(())
    }

    /// What hardly ever happens.
    fn rarity(&mut self, script: &mut Unstructured<'_>) -> Result<()> {
        match script.int_in_range(0..=4_u8)? {
            0 => {
                self.disk_works = false;
                self.node.handle_disk_failed(self.now);
            }
            1 => {
                let late = Duration::from_millis(script.int_in_range(0..=20_000)?);
                self.now = self.now + late;
                self.node.handle_interrupted(late, self.now);
            }
            2 => {
                let late = Duration::from_millis(script.int_in_range(0..=2_000)?);
                self.node.handle_delay(late, self.now);
            }
            3 => self.node.handle_wall_clock(script.arbitrary()?, self.now),
            _ => {
                let from = draw::any_address(script)?;
                let error = WireError::Version(script.arbitrary()?);
                self.node.handle_unreadable(from, &error, self.now);
            }
        }
        Ok(())
    }

    /// Takes the node's actions, and checks it.
    fn settle(&mut self) {
        let mut count = 0;
        while let Some(action) = self.node.poll_action() {
            count += 1;
            self.watch.check_action(&action, count);
            match action {
                Action::Persist { lsn, .. } => self.writing.push_back(lsn),
                Action::Plan(request) => {
                    self.asked.push_back(request);
                    if self.asked.len() > MOST_PLANS {
                        self.asked.pop_front();
                    }
                }
                Action::Broadcast(beacon) | Action::Unicast { beacon, .. } => {
                    self.draw.hear_own(beacon.sequence);
                }
                Action::Packet { .. }
                | Action::Dial { .. }
                | Action::Send { .. }
                | Action::Close(_)
                | Action::Panel(_)
                | Action::Report(_) => {}
            }
        }
        self.watch.check(&self.node);
    }
}
