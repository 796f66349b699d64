//! Random faults over many seeds.

use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preset, bully};
use elevator_fleet::wire::Protocol;
use liftmesh_lab::recording::Subject;
use liftmesh_lab::{Campaign, Mastership, is_void};

use crate::building::{lines, usually};

/// How many seeds a normal run takes of the default protocol, and of each other;
/// `LIFTMESH_CAMPAIGN=10000` makes a long one of it, `LIFTMESH_ELECTION=lowest-ip` takes one
/// protocol alone, and `LIFTMESH_PRESET=source` the settings of the protocols' sources.
const SEEDS: u64 = 3;
const SEEDS_OF_OTHERS: u64 = 1;

/// How many of several seeds may say nothing: chance does not always bring what it should.
const MOST_VOID: usize = 1;

/// The value of a variable of the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// S1 to S3, H1, H4, H5, N4, P1 to P5, O1, O4, O7, E1 to E4, E6, E7, F12 to F14, F18, F19 under this
/// protocol, whatever happens.
fn every_invariant_holds_under(protocol: Protocol) {
    if let Ok(chosen) = std::env::var("LIFTMESH_ELECTION") {
        let names = Protocol::ALL.map(|protocol| protocol.to_string());
        assert!(names.contains(&chosen), "LIFTMESH_ELECTION: one of {names:?}");
        if chosen != protocol.to_string() {
            return;
        }
    }
    let preset = preset();
    let usual = if protocol == Protocol::LowestIp { SEEDS } else { SEEDS_OF_OTHERS };
    let seeds = match number("LIFTMESH_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + number("LIFTMESH_CAMPAIGN").unwrap_or(usual),
    };
    let most_void = if seeds.end - seeds.start > 1 { MOST_VOID } else { 0 };
    let (mut failed, mut void) = (0, Vec::new());
    let mut mastership = Mastership::default();
    for seed in seeds {
        let election = ElectionSettings::preset(protocol, preset);
        let campaign = Campaign::by_seed(seed).under(election);
        let outcome = campaign.run().expect("a world");
        let why = is_void(&outcome.tally, campaign.duration, &campaign.enabled());
        void.extend(why.map(|why| format!("seed {seed}: {why}")));
        mastership = mastership.and(outcome.world.mastership());
        if outcome.violations.is_empty() {
            continue;
        }
        failed += 1;
        if failed == 1 {
            let lines = number("LIFTMESH_SEED").map_or(200, |_| usize::MAX);
            println!("{}", outcome.world.story(lines));
        }
        let of_source = match preset {
            Preset::Fleet => "",
            Preset::Source => "LIFTMESH_PRESET=source ",
        };
        println!(
            "replay with {of_source}LIFTMESH_ELECTION={protocol} LIFTMESH_SEED={seed} cargo test -p liftmesh-lab --test virtual_fleet whatever_happens\ndraw it with {} --svg {seed}.svg\n{}",
            Subject::Campaign { seed, protocol, preset, duration: campaign.duration },
            lines(&outcome.violations)
        );
        println!("with {:?}", outcome.world.inflicted());
    }
    let share = |of: Duration| 100.0 * of.as_secs_f64() / mastership.observed.as_secs_f64();
    println!(
        "{protocol}: linked masters {:.3} % of the time, for at most {:?}; \
         linked nodes with the mastership {:.3} %, for at most {:?}; \
         no master for at most {:?} (where more than 5 % is lost: {:?})",
        share(mastership.doubled),
        mastership.longest_doubled,
        share(mastership.held_twice),
        mastership.longest_held_twice,
        mastership.longest_vacant,
        mastership.longest_vacant_in_loss
    );
    assert_eq!(failed, 0, "seeds have failed");
    assert!(void.len() <= most_void, "seeds say nothing: {void:#?}");
}

macro_rules! whatever_happens {
    ($($module:ident: $protocol:ident),*) => {
        mod whatever_happens_under {
            $(#[test]
            fn $module() {
                super::every_invariant_holds_under(super::Protocol::$protocol);
            })*
        }
    };
}

elevator_fleet::for_every_protocol!(whatever_happens);

/// F2 to F8, E1 to E4, E6 to E8: also as in each protocol's source, and with numbers; usually only
/// what once failed.
#[test]
fn other_settings_hold_every_invariant_too() {
    let source = |protocol| ElectionSettings::preset(protocol, Preset::Source);
    let numbers = |settings| {
        ElectionSettings::Bully(bully::Settings {
            estimate: bully::Estimate::Fixed(10),
            ..settings
        })
    };
    let seeds = |first: u64| first..first + usually(1, 4);
    let mut others = vec![
        // The master restarts, and a slave follows it all the time.
        (source(Protocol::Ballot), 37),
        // A holder learns of orders and passes the token on, 90 ms after it was cut off.
        (source(Protocol::TokenRing), 204),
    ];
    if usually(false, true) {
        others.extend([
            (source(Protocol::LowestIp), 1),
            (source(Protocol::Bully), 1),
            (numbers(bully::Settings::default()), 1),
            (source(Protocol::Senior), 1),
        ]);
    }
    for (election, seed) in others
        .into_iter()
        .flat_map(|(election, first)| seeds(first).map(move |seed| (election.clone(), seed)))
    {
        let what = format!("seed {seed}, {election:?}");
        let campaign = Campaign::by_seed(seed).under(election);
        let violations = campaign.run().expect("a world").violations;
        assert!(violations.is_empty(), "{what}\n{}", lines(&violations));
    }
}

/// The settings of this run.
fn preset() -> Preset {
    match std::env::var("LIFTMESH_PRESET").as_deref() {
        Ok("source") => Preset::Source,
        Ok("fleet") | Err(_) => Preset::Fleet,
        Ok(other) => panic!("LIFTMESH_PRESET: fleet or source, not {other}"),
    }
}
