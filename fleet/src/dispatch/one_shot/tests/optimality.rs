//! The search of large banks against the best plans, on random banks.

use fastrand::Rng;

use super::*;

/// Prints and returns the mean and the worst ratio to the lowest possible sum of waits.
fn report(what: &str, ratios: &[f64]) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "there are some hundred")]
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let (worst, banks) = (ratios.iter().copied().fold(1.0, f64::max), ratios.len());
    println!("{what}: wait / lowest possible: mean {mean:.4}, worst {worst:.3}, {banks} banks");
    (mean, worst)
}

#[expect(clippy::cast_precision_loss, reason = "sums of waits are far below 2^52")]
fn ratio(found: u64, best: u64) -> f64 {
    assert!(found >= best);
    // Where nobody has to wait, nobody waits.
    assert!(best > 0 || found == 0);
    if best == 0 { 1.0 } else { found as f64 / best as f64 }
}

fn any_bank(random: &mut Rng, cars: usize, floors: u8) -> Bank {
    // Few calls, many, or all.
    let share = [0.3, 0.6, 1.0][random.usize(..3)];
    let last = usize::from(floors) - 1;
    let calls: Vec<_> = (0..=last)
        .map(|at| [at < last && random.f64() < share, at > 0 && random.f64() < share])
        .collect();
    let any_car = |random: &mut Rng| {
        let floor = i64::from(random.u8(..floors));
        let behaviour = [Idle, Moving, DoorOpen][random.usize(..3)];
        let direction = [None, Some(Up), Some(Down)][random.usize(..3)];
        // A car that moves stays in the shaft.
        let direction = direction.filter(|way| {
            let end = if *way == Up { i64::from(floors) - 1 } else { 0 };
            behaviour != Moving || floor != end
        });
        let share = [0.0, 0.2, 0.5][random.usize(..3)];
        let car_calls = (0..=last).map(|_| random.f64() < share).collect();
        Car { behaviour, floor, direction, car_calls }
    };
    let cars: Vec<_> = (0..cars).map(|_| any_car(random)).collect();
    Bank::new(&calls, &cars).unwrap()
}

fn any_rules(random: &mut Rng) -> Rules {
    let clearing = if random.u8(..4) == 0 { Clearing::All } else { Clearing::InDirection };
    let default = Rules::default();
    match random.u8(..4) {
        0 => Rules {
            travel: Duration::from_millis(random.u64(..9_000)),
            door_open: Duration::from_millis(random.u64(..9_000)),
            clearing,
        },
        _ => Rules { clearing, ..default },
    }
}

/// F17
#[test]
fn no_plan_of_a_few_calls_waits_less() {
    let mut random = Rng::with_seed(5);
    for _ in 0..100 {
        let rules = any_rules(&mut random);
        let bank = any_bank(&mut random, 3, 4);
        let mut snapshot = bank.snapshot(&rules);
        let found = bank.search(&mut snapshot, true);
        let calls = u32::try_from(bank.calls.len()).unwrap();
        let plans = (0..3_usize.pow(calls)).map(|number| {
            let holders = (0..calls).map(|call| number / 3_usize.pow(call) % 3);
            snapshot.wait(&holders.collect::<Vec<_>>())
        });
        assert_eq!(plans.min(), Some(snapshot.wait(&found)));
    }
}

#[test]
fn the_search_of_large_banks_is_close_to_the_best_plan() {
    for (cars, floors, banks) in [(3, 4, 1_000), (2, 6, 300), (3, 7, 60), (6, 6, 60), (8, 6, 40)] {
        let mut random = Rng::with_seed(3);
        let ratios = (0..banks).map(|_| {
            let rules = any_rules(&mut random);
            let bank = any_bank(&mut random, cars, floors);
            assert!(is_affordable(bank.calls.len(), cars));
            let mut snapshot = bank.snapshot(&rules);
            let [found, best] = [false, true].map(|is_few| {
                let holders = bank.search(&mut snapshot, is_few);
                snapshot.wait(&holders)
            });
            ratio(found, best)
        });
        let ratios: Vec<f64> = ratios.collect();
        let (mean, _) = report(&format!("search, {cars} cars, {floors} floors"), &ratios);
        assert!(mean <= 1.02);
    }
}
