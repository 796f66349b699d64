use super::*;

#[test]
fn a_node_is_a_scheme_a_host_and_a_port() {
    for (text, shown) in [
        ("https://192.168.1.11:7080", "https://192.168.1.11:7080"),
        ("https://lift-a.example/", "https://lift-a.example:443"),
        ("http://127.0.0.3:7080", "http://127.0.0.3:7080"),
        ("http://localhost:7080", "http://localhost:7080"),
        ("https://[fd00::1]:7080", "https://[fd00::1]:7080"),
    ] {
        assert_eq!(text.parse::<NodeUrl>().map(|url| url.to_string()), Ok(shown.to_owned()));
    }
    for wrong in ["", "a:7080", "ftp://a", "https://a:0", "https://a:65536", "https://a/panel"] {
        assert_eq!(wrong.parse::<NodeUrl>(), Err(UrlError::Malformed(wrong.to_owned())), "{wrong}");
    }
}

#[test]
fn a_token_is_neither_taken_from_an_address_nor_sent_in_plain_text() {
    let secret = "liftmesh-token-5";
    for text in [format!("https://a:7080/#token={secret}"), format!("https://u:{secret}@a:7080")] {
        let refused = text.parse::<NodeUrl>().unwrap_err();
        assert_eq!(refused, UrlError::HasMore);
        assert!(!refused.to_string().contains(secret));
    }
    let exposed = "http://192.168.1.11:7080".parse::<NodeUrl>().unwrap_err();
    assert_eq!(exposed, UrlError::Exposed("192.168.1.11:7080".to_owned()));
}

#[test]
fn a_token_is_not_shown() {
    let shown = format!("{:?}", bearer(&Zeroizing::new("liftmesh-token-5".to_owned())).unwrap());
    assert!(!shown.contains("liftmesh-token-5"), "{shown}");
    let wrong = bearer(&Zeroizing::new("two\nlines".to_owned()));
    assert!(matches!(wrong, Err(ClientError::MalformedToken)));
}
