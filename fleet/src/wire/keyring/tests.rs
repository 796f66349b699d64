use super::*;

fn fleet(name: &str) -> FleetName {
    name.parse().expect("a name")
}

fn key(secret: u8, name: &str) -> FleetKey {
    FleetKey::new(&[secret; SECRET], &fleet(name))
}

/// The bytes on the wire are part of the protocol: another derivation would split a fleet.
#[test]
fn tags_and_ids_stay_the_same() {
    let key = key(7, "tower");
    let hex = |bytes: &[u8]| {
        let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        pairs.concat()
    };
    let made = [
        hex(&[key.id()]),
        hex(&key.tag(Purpose::Datagram, b"beacon")),
        hex(&key.tag(Purpose::Packet, b"vote")),
        hex(key.links()),
    ];
    assert_eq!(
        made,
        [
            "8f",
            "1892cfb027b214355761d519313fb778",
            "f0c26f08c4881ff2a74b3b429842ddb7",
            "e9d0183a72bcabeb4b5eaa3f26a34544d8e9e08e11c45167d7b889988e6ed8cd",
        ]
    );
}

#[test]
fn no_key_has_the_id_of_none() {
    assert!((0..=u8::MAX).all(|secret| key(secret, "tower").id() != NO_KEY));
}

#[test]
fn the_first_credential_is_sent_and_all_are_accepted() {
    let keys = [key(1, "tower"), key(2, "tower")];
    let [old, new] = keys.each_ref().map(|key| move || Credential::Key(key.clone()));
    let none = || Credential::None;
    // Which of the two keys is sent, whether anybody is accepted, and which of the keys are.
    for (credentials, sent, anybody, accepted) in [
        (vec![], None, true, [false, false]),
        (vec![none(), new()], None, true, [false, true]),
        (vec![new(), none()], Some(1), true, [false, true]),
        (vec![old(), new()], Some(0), false, [true, true]),
        (vec![new()], Some(1), false, [false, true]),
    ] {
        let case = format!("{credentials:?}");
        let keyring = Keyring::new(credentials);
        let verifies = |key: &FleetKey| {
            let tag = key.tag(Purpose::Datagram, b"beacon");
            keyring.verify(key.id(), Purpose::Datagram, b"beacon", &tag).is_ok()
        };
        let sent = sent.map(|key: usize| keys[key].id());
        assert_eq!(keyring.sent().map(FleetKey::id), sent, "{case}");
        assert_eq!(keyring.accepts_anybody(), anybody, "{case}");
        assert_eq!(keys.each_ref().map(verifies), accepted, "{case}");
    }
}

/// Ids are hints: two keys with the same one are both tried.
#[test]
fn an_unknown_id_and_a_wrong_tag_are_told_apart() {
    let own = key(1, "tower");
    let twin = (2..=u8::MAX).map(|secret| key(secret, "tower")).find(|key| key.id() == own.id());
    let twin = twin.expect("256 keys have 255 ids at most");
    let tag = twin.tag(Purpose::Datagram, b"beacon");
    let verify = |keys: &Keyring| keys.verify(own.id(), Purpose::Datagram, b"beacon", &tag);
    let both = Keyring::new([own.clone(), twin.clone()].map(Credential::Key));
    assert_eq!(verify(&both), Ok(()));
    assert_eq!(verify(&Keyring::new([Credential::Key(own.clone())])), Err(KeyError::Forged));
    assert_eq!(verify(&Keyring::default()), Err(KeyError::Unknown));
}

#[test]
fn a_key_is_not_printed() {
    let printed = format!("{:?}", key(0xab, "tower"));
    assert!(printed.starts_with("FleetKey { id: "), "{printed}");
    assert!(printed.len() < 30, "{printed}");
}
