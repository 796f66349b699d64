//! Full stores: what they may lack, and what not.

use super::*;

/// One machine tells another of an order in each of 64 journals that nobody uses.
pub(super) fn flood(world: &mut World, from: usize, to: usize) {
    let nobody = NodeId::new("GHOST").expect("a name");
    let invented = (100..164).map(|journal| Record {
        dot: Dot { journal: JournalId(journal), sequence: 1 },
        origin: nobody.clone(),
        call: Call::Car { car: nobody.clone(), floor: Floor::BOTTOM },
        state: RecordState::Open { waited: Duration::ZERO },
    });
    let delta = Delta { records: invented.collect(), ..Delta::default() };
    assert!(world.forge(from, to, &Frame::Delta(delta)));
}

/// C7: a node may have no room for what is invented, not for what a machine has placed.
#[test]
fn only_what_is_invented_excuses_that_there_is_no_room() {
    let mut world = calm();
    let is_excused = |world: &mut World, journal: JournalId| {
        let dot = Dot { journal, sequence: 1 };
        let what = format!(
            "node B sends more journals or calls than there can be, {dot} among them: 1 records were \
             refused"
        );
        let before = world.violations().len();
        let report = Report::Conflict(what);
        world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
        world.violations().len() == before
    };
    let placed = world.machines[2].journals[0];
    assert!(is_excused(&mut world, DOT.journal));
    assert!(!is_excused(&mut world, placed));
    // Where there is much that is invented, nothing has room that nobody announces.
    flood(&mut world, 1, 0);
    // What deceives a node excuses every complaint for a while.
    world.run_for(Duration::from_secs(20));
    assert!(!is_excused(&mut world, placed), "its node announces it");
    world.inflict(Fault::Kill(2));
    assert!(is_excused(&mut world, placed));
}

/// O7: stores may differ for longer in what nobody announces, where those that lack it have no room.
#[test]
fn only_who_has_no_room_may_lack_an_order_for_longer() {
    let mut world = calm();
    let patience = |world: &World, journal| {
        contested::patience(&world.snapshot(), journal, &[0, 1, 2], [0]) > Duration::ZERO
    };
    let announced = world.machines[1].node().expect("it runs").journal();
    assert!(!patience(&world, DOT.journal), "there is room");
    world.machines[0].without_room_at = Some(world.now);
    assert!(patience(&world, DOT.journal));
    assert!(!patience(&world, announced), "there is always room for it");
    let of_both = contested::patience(&world.snapshot(), DOT.journal, &[0, 1, 2], [0, 1]);
    assert!(of_both.is_zero(), "B has room");
    world.now += Duration::from_secs(15);
    assert!(!patience(&world, DOT.journal), "that was long ago");
}

/// The first machine holds an invented order and has lit its lamp; the others have no room.
fn one_lit() -> World {
    let mut world = calm();
    tell(&mut world, 1, 0);
    world.machines[0].lit.insert(up(1));
    for machine in &mut world.machines[1..] {
        machine.without_room_at = Some(world.now);
    }
    world
}

/// One machine tells another of an invented order.
fn tell(world: &mut World, from: usize, to: usize) {
    let record = Record {
        dot: DOT,
        origin: NodeId::new("GHOST").expect("a name"),
        call: call(1),
        state: RecordState::Open { waited: Duration::ZERO },
    };
    let delta = Delta { records: vec![record], ..Delta::default() };
    assert!(world.forge(from, to, &Frame::Delta(delta)));
}

/// P4: once a node has room for an order, its panel has a second to follow.
#[test]
fn a_panel_follows_what_its_node_had_no_room_for_within_a_second() {
    let mut world = one_lit();
    let lasts = |world: &mut World| {
        look(world);
        look(world);
    };
    lasts(&mut world);
    excuses(&world, "P4");
    tell(&mut world, 0, 1);
    tell(&mut world, 0, 2);
    look(&mut world);
    excuses(&world, "P4");
    lasts(&mut world);
    complains(&world, "P4");
}

/// P4: an excuse that comes and goes excuses no lamp for ever.
#[test]
fn an_excuse_that_comes_and_goes_ends() {
    let mut world = one_lit();
    let limit = world.now + contested::longest_excuse(&world.snapshot());
    for turn in 0.. {
        world.now += EQUAL_WITHIN / 2;
        for machine in &mut world.machines[1..] {
            machine.without_room_at = Some(world.now).filter(|_| turn % 2 == 0);
        }
        world.inspect();
        if world.now >= limit + EQUAL_WITHIN * 3 {
            break;
        }
        if world.now < limit {
            excuses(&world, "P4");
        }
    }
    complains(&world, "P4");
}

/// O7: what the master and the heir have no room for does not reach those who have links to these alone.
#[test]
fn who_has_room_may_lack_what_nobody_passes_on() {
    let mut world = World::new(WorldSettings::new(4, 1)).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(10));
    let is_excused = |world: &World, lacking: &[usize]| {
        let lacking = lacking.iter().copied();
        let patience = contested::patience(&world.snapshot(), DOT.journal, &[0, 1, 2, 3], lacking);
        patience > Duration::ZERO
    };
    assert!(!is_excused(&world, &[0, 1, 2]), "all have room");
    world.machines[0].without_room_at = Some(world.now);
    assert!(!is_excused(&world, &[0, 1, 2]), "the heir has room");
    world.machines[1].without_room_at = Some(world.now);
    assert!(is_excused(&world, &[0, 1, 2]));
    assert!(!is_excused(&world, &[0, 2]), "the heir passes it on");
    assert!(!is_excused(&world, &[2]), "both do");
}
