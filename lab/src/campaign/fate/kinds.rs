//! The kinds of faults that a campaign may have.

macro_rules! kinds {
    ($($kind:ident = $name:literal),* $(,)?) => {
        /// A kind of fault, by the name that [`Fault::kind`](crate::Fault::kind) gives it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Kind {
            $(#[doc = $name] $kind),*
        }

        impl Kind {
            /// All of them.
            pub(super) const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// What it is called.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name),*
                }
            }
        }
    };
}

kinds! {
    Loss = "loss",
    LossInBursts = "loss in bursts",
    Duplication = "duplication",
    Reordering = "reordering",
    Corruption = "corruption",
    Delay = "delay",
    DamagedFrame = "damaged frame",
    OneWayCut = "one-way cut",
    Cut = "cut",
    RefusedLinks = "refused links",
    Clog = "clog",
    Partition = "partition",
    OneWayPartition = "one-way partition",
    RingPartition = "ring partition",
    BridgePartition = "bridge partition",
    RecreatedInterface = "recreated interface",
    Replay = "replay",
    Forgery = "forgery",
    OtherVersion = "other version",
    Kill = "kill",
    PowerCut = "power cut",
    MainsCut = "mains cut",
    CrashAtAWrite = "crash at a write",
    CrashAtACommit = "crash at a commit",
    CrashAtADatagram = "crash at a datagram",
    CrashAtAFrame = "crash at a frame",
    TornWrite = "torn write",
    Suspension = "suspension",
    Pause = "pause",
    ClockRate = "clock rate",
    WallClock = "wall clock",
    LostDisk = "lost disk",
    FailedDisk = "failed disk",
    FullDisk = "full disk",
    SlowDisk = "slow disk",
    DuplicateAddress = "duplicate address",
    Crowd = "crowd",
    LineNoise = "line noise",
    SilentClimate = "silent climate sensor",
    Motor = "motor",
    Levelling = "levelling",
    Speed = "speed",
    DeadSensor = "dead sensor",
    AllSensorsDead = "all sensors dead",
    JammedDoor = "jammed door",
    Obstruction = "obstruction",
    StopSwitch = "stop switch",
    Load = "load",
    KeySwitch = "key switch",
    LineCut = "line cut",
}

impl Kind {
    /// Those that break a car.
    pub(super) const OF_CARS: [Self; 12] = [
        Self::Motor,
        Self::Levelling,
        Self::Speed,
        Self::DeadSensor,
        Self::AllSensorsDead,
        Self::JammedDoor,
        Self::Obstruction,
        Self::StopSwitch,
        Self::Load,
        Self::KeySwitch,
        Self::LineCut,
        Self::SilentClimate,
    ];
}
