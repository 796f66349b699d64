//! The kinds of faults that a campaign may have.

macro_rules! kinds {
    ($($(#[$doc:meta])+ $group:ident($of:ident) { $($kind:ident = $name:literal),* $(,)? })*) => {
        $(
            $(#[$doc])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub(super) enum $of {
                $(#[doc = $name] $kind),*
            }
        )*

        /// A kind of fault, by the name that [`Fault::kind`](crate::Fault::kind) gives it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Kind {
            $($(#[$doc])+ $group($of)),*
        }

        impl Kind {
            /// All of them.
            pub(super) const ALL: [Self; [$($($name),*),*].len()] =
                [$($(Self::$group($of::$kind)),*),*];

            /// What it is called.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $($(Self::$group($of::$kind) => $name),*),*
                }
            }
        }
    };
}

kinds! {
    /// Of the network.
    Network(NetworkKind) {
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
        NetworkCut = "network cut",
        RecreatedInterface = "recreated interface",
        NewAddress = "new address",
    }
    /// Somebody sends what no node sends now.
    Intrusion(IntrusionKind) {
        Replay = "replay",
        Forgery = "forgery",
        OtherVersion = "other version",
    }
    /// Of a machine and its clocks, while it may be off.
    Machine(MachineKind) {
        MainsCut = "mains cut",
        ClockRate = "clock rate",
        WallClock = "wall clock",
        SlowDisk = "slow disk",
        DuplicateAddress = "duplicate address",
    }
    /// Of a process that runs.
    Process(ProcessKind) {
        Kill = "kill",
        PowerCut = "power cut",
        CrashAtAWrite = "crash at a write",
        CrashAtACommit = "crash at a commit",
        CrashAtADatagram = "crash at a datagram",
        CrashAtAFrame = "crash at a frame",
        CrashBeforeAFrame = "crash before a frame",
        CrashAtADial = "crash at a dial",
        CrashAtALamp = "crash at a lamp",
        TornWrite = "torn write",
        Suspension = "suspension",
        Pause = "pause",
    }
    /// A disk takes nothing more.
    Disk(DiskKind) {
        Lost = "lost disk",
        Failed = "failed disk",
        Full = "full disk",
    }
    /// Of those who wait for a car.
    Passengers(PassengersKind) {
        Crowd = "crowd",
    }
    /// Of operators, at any node.
    Operator(OperatorKind) {
        ServiceMode = "service mode",
        PriorityCall = "priority call",
        FireRecall = "fire recall",
        EmergencyPower = "emergency power",
        LockedFloor = "locked floor",
    }
    /// Of a car or its panel.
    Car(CarKind) {
        LineNoise = "line noise",
        SilentClimate = "silent climate sensor",
        Motor = "motor",
        Levelling = "levelling",
        Speed = "speed",
        DeadSensor = "dead sensor",
        WrongSensor = "wrong sensor",
        AllSensorsDead = "all sensors dead",
        JammedDoor = "jammed door",
        Obstruction = "obstruction",
        StopSwitch = "stop switch",
        Load = "load",
        KeySwitch = "key switch",
        LineCut = "line cut",
    }
}

impl CarKind {
    /// Those that break a car until it is repaired.
    pub(super) const LASTING: [Self; 12] = [
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

impl Kind {
    /// Whether a disk takes nothing more afterwards.
    pub(super) fn takes_a_disk_for_good(self) -> bool {
        matches!(self, Self::Disk(DiskKind::Failed | DiskKind::Full))
    }
}
