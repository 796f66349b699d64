use super::*;
use crate::WorldSettings;

fn world(seed: u64) -> World {
    let mut world = World::new(WorldSettings { key: true, ..WorldSettings::new(4, seed) })
        .expect("a small fleet");
    world.start_all();
    world.run_for(Duration::from_secs(3));
    world
}

#[test]
fn every_kind_inflicts_faults_of_its_name() {
    for kind in Kind::ALL {
        let mut fate = Fate::new(1, 4, true);
        let mut world = world(1);
        fate.enabled = vec![(kind, 100)];
        fate.due = vec![kind];
        fate.strike_what_is_due(&mut world);
        assert!(fate.due.is_empty(), "{kind:?} does not happen");
        let inflicted = world.inflicted();
        assert!(inflicted.contains_key(kind.name()), "{kind:?} is not in {inflicted:?}");
    }
}

/// A datagram of another version has the tag of the fleet, if that has a key: members send it.
#[test]
fn another_version_is_read_as_such() {
    for key in [false, true] {
        let settings = WorldSettings { key, ..WorldSettings::new(2, 1) };
        let mut world = World::new(settings).expect("a small fleet");
        world.start_all();
        world.run_for(Duration::from_secs(3));
        world.inflict(Fault::OtherVersion { from: 0, to: 1 });
        world.run_for(Duration::from_secs(1));
        let interference = world.interference();
        assert_eq!((interference.other_versions, interference.damaged), (1, 0), "key: {key}");
        assert_eq!(world.conflicts(1), 1, "the node says so");
    }
}

#[test]
fn seeds_enable_different_kinds() {
    let of = |seed| Fate::new(seed, 4, true).enabled();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    let all: BTreeSet<&str> = (0..100).flat_map(of).collect();
    assert_eq!(all.len(), Kind::ALL.len() + 1, "robots are beside the others");
}
