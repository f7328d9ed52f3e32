//! An example: one server for all tests of a file, time that moves, faults and snapshots.
use keelson_testing::{Result, Server};
use std::fs;

#[test]
fn a_server_for_tests() -> Result<()> {
    let manifest = std::env::temp_dir().join(format!("keelson-settings-{}.yaml", std::process::id()));
    fs::write(&manifest, "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { mode: fast }\n")?;
    let server = Server::builder().flag("--nodes=0").apply(&manifest).start()?;
    fs::remove_file(&manifest)?;
    assert!(fs::read_to_string(server.kubeconfig())?.contains(server.url()));
    assert!(server.run(&["history", "configmap/settings"])?.contains("mode: fast"));

    let sent = server.requests(&["verb=list"])?;
    assert!(sent.iter().all(|request| request.contains(r#""verb":"list""#)), "{sent:?}");
    assert!(server.requests(&["sort=time"]).unwrap_err().to_string().contains("userAgent"));

    // A time in RFC 3339: the day comes first.
    let before = server.freeze()?;
    let after = server.advance("72h")?;
    assert!(after > before, "{before} {after}");
    assert_eq!(server.now()?, after);
    server.resume()?;

    server.snapshot("one")?;
    server.restore("one")?;
    assert!(server.restore("none").unwrap_err().to_string().contains("none"));

    // A fault is removed with its value.
    {
        let fault = server.fault(r#"{"verb": "update", "resource": "configmaps", "status": 409, "times": 1}"#)?;
        assert_eq!(fault.hits()?, 0);
    }
    assert!(server.run(&["faults"])?.contains("there are no faults"));
    server.reset()?;
    Ok(())
}
