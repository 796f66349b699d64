//! How much faster than real time the same brain runs in virtual time.

use std::time::{Duration, Instant};

use liftmesh_lab::{World, WorldSettings};

use crate::samples::{Bound, Decisive, Figure, TIMES, Target};

const NODES: usize = 8;

/// How much virtual time a round takes.
const SPAN: Duration = Duration::from_mins(1);

pub(crate) fn measure(rounds: usize) -> Vec<Figure> {
    let bare = series(rounds, |settings| {
        settings.codec = false;
        settings.inspect = false;
    });
    let full = series(rounds, |_| {});
    let target = Target { figure: Decisive::Median, bound: Bound::AtLeast, value: 1_000.0 };
    vec![
        Figure::new("virtual time, 8 quiet nodes", TIMES, bare, Some(target)),
        Figure::new("virtual time, with real bytes and invariants", TIMES, full, None),
    ]
}

fn series(rounds: usize, change: impl Fn(&mut WorldSettings)) -> Vec<f64> {
    let mut settings = WorldSettings::new(NODES, 1);
    change(&mut settings);
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(2));
    (0..rounds)
        .map(|_| {
            let began = Instant::now();
            world.run_for(SPAN);
            SPAN.as_secs_f64() / began.elapsed().as_secs_f64()
        })
        .collect()
}
