use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn store() -> (tempfile::TempDir, TokenStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = TokenStore::new(directory.path());
    (directory, store)
}

fn name(text: &str) -> TokenName {
    text.parse().unwrap()
}

#[test]
fn a_token_is_found_until_it_is_revoked() {
    let (_directory, store) = store();
    assert!(store.find("liftmesh-token-00").unwrap().is_none());
    let kiosk = store.create(name("kiosk"), Scope::Call).unwrap();
    let robot = store.create(name("robot"), Scope::Operate).unwrap();
    assert_ne!(kiosk, robot);
    let found = store.find(&kiosk).unwrap().unwrap();
    assert_eq!((found.name, found.scope), (name("kiosk"), Scope::Call));
    assert!(store.find(&kiosk[1..]).unwrap().is_none());
    store.revoke(&name("kiosk")).unwrap();
    assert!(store.find(&kiosk).unwrap().is_none());
    let left: Vec<_> = store.list().unwrap().into_iter().map(|token| token.name).collect();
    assert_eq!(left, [name("robot")]);
    assert!(matches!(store.revoke(&name("kiosk")), Err(StoreError::NoToken(_))));
}

#[test]
fn the_file_has_no_token_and_is_for_its_user_alone() {
    let (directory, store) = store();
    let token = store.create(name("kiosk"), Scope::Call).unwrap();
    let path = directory.path().join("tokens.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&token[PREFIX.len()..]), "{text}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(store.find(&token), Err(StoreError::Exposed { mode: 0o640, .. })));
}

#[test]
fn a_name_is_used_once_and_a_damaged_file_is_not_overwritten() {
    let (directory, store) = store();
    store.create(name("kiosk"), Scope::Call).unwrap();
    assert!(matches!(store.create(name("kiosk"), Scope::View), Err(StoreError::NameTaken(_))));
    std::fs::write(directory.path().join("tokens.json"), "{").unwrap();
    assert!(matches!(store.create(name("robot"), Scope::View), Err(StoreError::Damaged { .. })));
}

#[test]
fn there_are_at_most_so_many() {
    let (_directory, store) = store();
    for number in 0..MOST {
        store.create(name(&format!("t{number}")), Scope::View).unwrap();
    }
    assert!(matches!(store.create(name("one-more"), Scope::View), Err(StoreError::TooMany)));
}

#[test]
fn a_name_is_plain() {
    for wrong in ["", "a b", "ä", "a/b", &"a".repeat(33)] {
        assert!(wrong.parse::<TokenName>().is_err(), "{wrong}");
    }
}
