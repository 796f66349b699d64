use elevator_fleet::model::NodeId;
use elevator_fleet::settings::{MOST_SETTINGS, Words};
use elevator_fleet::wire::Nonce;

use super::*;
use crate::clearance::ClearError;
use crate::journal::{Account, Journal};
use crate::offline::{Offline, OfflineError};

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(500_000)
}

fn name(text: &str) -> TokenName {
    text.parse().unwrap()
}

fn create(text: &str, scope: Scope, token: &str) -> Change {
    Change::Create { name: name(text), scope, hash: TokenHash::of(token), lifetime_s: None }
}

fn revoke(text: &str) -> Change {
    Change::Revoke { name: name(text) }
}

fn apply(settings: &mut Settings, change: &Change) -> Result<(), TokenRefused> {
    let setting = change.register(settings, now())?;
    settings.set(setting, Words::new("kovac").unwrap(), Nonce(1)).unwrap();
    Ok(())
}

#[test]
fn a_token_is_found_until_it_is_revoked() {
    let mut settings = Settings::default();
    let (kiosk, robot) = (draw().unwrap(), draw().unwrap());
    assert_ne!(kiosk, robot);
    apply(&mut settings, &create("kiosk", Scope::Call, &kiosk)).unwrap();
    apply(&mut settings, &create("robot", Scope::Operate, &robot)).unwrap();
    let tokens = Tokens::of(&settings);
    let found = tokens.find(&kiosk, now()).unwrap();
    assert_eq!((&found.name, found.scope), (&name("kiosk"), Scope::Call));
    assert_eq!(tokens.find(&kiosk[1..], now()), None);
    apply(&mut settings, &revoke("kiosk")).unwrap();
    let tokens = Tokens::of(&settings);
    assert_eq!(tokens.find(&kiosk, now()), None);
    assert!(tokens.find(&robot, now()).is_some());
    let refused = apply(&mut settings, &revoke("kiosk"));
    assert_eq!(refused, Err(TokenRefused::NoToken(name("kiosk"))));
}

#[test]
fn no_setting_has_a_token_and_what_is_shown_has_no_hash() {
    let token = draw().unwrap();
    let setting =
        create("kiosk", Scope::Call, &token).register(&Settings::default(), now()).unwrap();
    assert_eq!(setting.to_string(), "call 2027-01-15T08:00:00Z");
    let json = serde_json::to_string(&setting).unwrap();
    assert!(json.contains("\"hash\":null"), "{json}");
}

#[test]
fn token_counts_until_it_expires() {
    let mut settings = Settings::default();
    let hash = TokenHash::of("audit");
    let create = |lifetime_s| Change::Create {
        name: name("audit"),
        scope: Scope::View,
        hash,
        lifetime_s: Some(lifetime_s),
    };
    for wrong in [0, MAX_LIFETIME.as_secs() + 1, u64::MAX] {
        assert_eq!(apply(&mut settings, &create(wrong)), Err(TokenRefused::Lifetime));
    }
    apply(&mut settings, &create(3600)).unwrap();
    let tokens = Tokens::of(&settings);
    let after = |seconds| now() + Duration::from_secs(seconds);
    assert_eq!(tokens.time_left(&hash, after(3599)), Some(Duration::from_secs(1)));
    assert!(tokens.find("audit", after(3599)).is_some() && tokens.has(Scope::View, after(3599)));
    assert_eq!(tokens.time_left(&hash, after(3600)), None);
    assert!(tokens.find("audit", after(3600)).is_none() && !tokens.has(Scope::View, after(3600)));

    let listed = listed(&settings.iter().next().unwrap().setting).unwrap();
    assert_eq!(listed, ["audit", "view", "2027-01-15T08:00:00Z", "2027-01-15T09:00:00Z"]);

    let again = create(60).register(&settings, after(3599));
    assert_eq!(again, Err(TokenRefused::NameTaken(name("audit"))));
    assert!(create(60).register(&settings, after(3600)).is_ok(), "its name is free again");
    let revoked = revoke("audit").register(&settings, after(3600));
    assert!(revoked.is_ok(), "it may count at a node whose clock is behind");
}

#[test]
fn a_name_is_used_once_and_there_are_so_many() {
    let mut settings = Settings::default();
    let new = |text: &str| create(text, Scope::View, text);
    for number in 0..MOST {
        apply(&mut settings, &new(&format!("t{number}"))).unwrap();
    }
    let again = apply(&mut settings, &new("t3"));
    assert_eq!(again, Err(TokenRefused::NameTaken(name("t3"))));
    assert_eq!(apply(&mut settings, &new("one-more")), Err(TokenRefused::TooMany));
    for number in MOST..MOST_NAMES {
        apply(&mut settings, &revoke(&format!("t{}", number - 1))).unwrap();
        apply(&mut settings, &new(&format!("t{number}"))).unwrap();
    }
    apply(&mut settings, &revoke("t3")).unwrap();
    assert_eq!(apply(&mut settings, &new("new")), Err(TokenRefused::TooManyNames));
    assert_eq!(apply(&mut settings, &new("t3")), Ok(()));
    const { assert!(MOST_NAMES < MOST_SETTINGS / 2, "modes have room") };
    for wrong in ["", "a b", "ä", "a/b", &"a".repeat(33)] {
        assert!(wrong.parse::<TokenName>().is_err(), "{wrong}");
    }
    assert!("a".repeat(32).parse::<TokenName>().is_ok());
}

/// The journal of a node that does not run takes the setting, and the audit log who gave it.
#[test]
fn a_node_that_does_not_run_has_the_token_when_it_starts() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeId::new("A").unwrap();
    let nameless = Offline::open(directory.path(), None);
    assert!(matches!(nameless, Err(OfflineError::Place(ClearError::Nameless))));
    let token = draw().unwrap();
    for change in
        [create("kiosk", Scope::Call, &token), create("robot", Scope::View, "x"), revoke("robot")]
    {
        let mut offline = Offline::open(directory.path(), Some(node.clone())).unwrap();
        offline.change(&change, "kovac", Account::default()).unwrap();
    }
    let (journal, restored) = Journal::open(directory.path(), &node).unwrap();
    let mut settings = Settings::default();
    for register in restored.settings {
        settings.merge(register);
    }
    let tokens = Tokens::of(&settings);
    assert!(tokens.find(&token, now()).is_some() && tokens.find("x", now()).is_none());
    let audit = serde_json::to_string(&journal.audit().unwrap()).unwrap();
    let [of_token, of_hash] = [token.to_string(), String::from(TokenHash::of(&token))];
    assert!(!audit.contains(&of_token) && !audit.contains(&of_hash), "{audit}");
    assert!(audit.contains("token/robot") && audit.contains("revoked"), "{audit}");
    drop(journal);
    let gone = Offline::open(&directory.path().join("none"), Some(node));
    assert!(matches!(gone, Err(OfflineError::Place(ClearError::Directory { .. }))));
}
