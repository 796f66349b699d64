//! As in the source: without the mesh's reports, challenges and head start.

use super::*;

/// B2: as in the source T runs once in each election.
#[test]
fn as_in_the_source_t_is_armed_once() {
    let mut second = Bully::new(candidate(2), as_in_the_source());
    let outputs = feed(&mut second, Input::Start);
    assert_eq!(armed(&outputs, Timer::Answer), Some(as_in_the_source().answer_wait));
    let outputs = hears(&mut second, 3, &NodeState::Seeking);
    assert_eq!(sent(&outputs), asked([3]));
    assert_eq!(armed(&outputs, Timer::Answer), None);
}

/// B6: as in the source an election does not begin another one right after the last.
#[test]
fn as_in_the_source_a_follower_holds_one_election_in_t() {
    let mut second = follower(2, &[1, 3], 3, as_in_the_source());
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer), (3, Message::Election)]);
    let outputs = receives(&mut second, 3, master(1));
    assert_eq!(armed(&outputs, Timer::Pause), Some(as_in_the_source().answer_wait));
    assert_eq!(sent(&receives(&mut second, 1, Message::Election)), [(1, Message::Answer)]);
    fires(&mut second, Timer::Pause);
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer), (3, Message::Election)]);
}

/// B10: the source knows no challenge, no bonus and no head start.
#[test]
fn as_in_the_source_nobody_challenges_a_master_that_works() {
    let settings = as_in_the_source();
    let mut second = follower(2, &[1, 3], 3, settings.clone());
    assert_eq!(feed(&mut second, Input::Estimate(100)), []);
    assert_eq!(armed(&hears(&mut second, 3, &NodeState::Master), Timer::HoldOff), None);
    let mut second = amid(2, &[1], settings.clone());
    fires(&mut second, Timer::Answer);
    hears_in(&mut second, 1, &slave_of(2), 1);
    assert_eq!(second.estimate(), 20);
    assert!(!settings.outranks((100, &name(1)), (1, &name(2))));
    assert_eq!((settings.head_start, settings.ask_again), (Duration::ZERO, settings.answer_wait));
}

/// B2, C5: without the mesh's help its own patience decides, and the silent one is asked too.
#[test]
fn as_in_the_source_silence_is_the_only_sign_of_loss() {
    let mut second = follower(2, &[1, 3], 3, as_in_the_source());
    assert_eq!(loses(&mut second, 3), []);
    assert_eq!(second.node_state(), slave_of(3));
    let outputs = hears(&mut second, 3, &NodeState::Master);
    assert_eq!(armed(&outputs, Timer::Silence), Some(as_in_the_source().silence), "it works");
    let outputs = fires(&mut second, Timer::Silence);
    assert_eq!(sent(&outputs), asked([3]));
    assert_eq!(second.node_state(), NodeState::Seeking);
}

/// B8: figure 29, step by step; C is S4.
#[test]
fn the_worked_example_goes_as_in_the_source() {
    let [mut first, mut second, mut third] = [1, 2, 3].map(|own| {
        follower(
            own,
            &[1, 2, 3, 4].into_iter().filter(|other| *other != own).collect::<Vec<_>>(),
            4,
            as_in_the_source(),
        )
    });

    // Step 1: S1 finds C dead, and asks S2 and S3 (and C, in vain). Both answer …
    let outputs = fires(&mut first, Timer::Silence);
    let questions = BTreeSet::from_iter(sent(&outputs));
    assert_eq!(questions, asked([2, 3, 4]).into());
    let by_second = receives(&mut second, 1, Message::Election);
    let by_third = receives(&mut third, 1, Message::Election);
    for outputs in [&by_second, &by_third] {
        assert_eq!(sent(outputs)[0], (1, Message::Answer));
    }
    receives(&mut first, 2, Message::Answer);
    receives(&mut first, 3, Message::Answer);

    // Step 2: … and start elections of their own.
    assert_eq!(sent(&by_second)[1..], asked([3, 4]));
    assert_eq!(sent(&by_third)[1..], asked([4]));
    assert_eq!([&first, &second, &third].map(state), ["candidate"; 3].map(str::to_owned));

    // Step 3: S3 answers S2, waits for C in vain, takes over, and dies before it has said so.
    let outputs = receives(&mut third, 2, Message::Election);
    assert_eq!(sent(&outputs), [(2, Message::Answer)]);
    receives(&mut second, 3, Message::Answer);
    let unsent = fires(&mut third, Timer::Answer);
    assert_eq!(sent(&unsent), [(1, master(2)), (2, master(2))]);
    assert_eq!(third.node_state(), NodeState::Master);
    drop(third);

    // Step 4: S1's wait runs out; its new election makes S2 the master.
    let outputs = fires(&mut first, Timer::Announcement);
    assert!(sent(&outputs).contains(&(2, Message::Election)));
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)], "its election is running");
    receives(&mut first, 2, Message::Answer);
    let outputs = fires(&mut second, Timer::Announcement);
    assert_eq!(sent(&outputs), asked([3, 4]));
    let outputs = fires(&mut second, Timer::Answer);
    assert_eq!(sent(&outputs), [(1, master(2))]);
    receives(&mut first, 2, master(2));
    assert_eq!((first.node_state(), second.node_state()), (slave_of(2), NodeState::Master));
}
