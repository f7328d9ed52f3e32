package dev.keelson.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** An example: a conflict on demand, time that moves, and a snapshot. */
@KeelsonExtension.Enabled(flags = "--nodes=0")
class SettingsTest {
  private static String maps(String namespace) {
    return "/api/v1/namespaces/" + namespace + "/configmaps";
  }

  @Test
  void aFaultStrikesOnce(Keelson server, @KeelsonExtension.TestNamespace String namespace) {
    var fault = server.addFault("{\"verb\": \"create\", \"resource\": \"configmaps\", \"namespace\": \"" + namespace + "\", \"status\": 503, \"times\": 1}");
    var body = "{\"metadata\": {\"name\": \"a\"}}";
    var refused = assertThrows(Keelson.ApiException.class, () -> server.send("POST", maps(namespace), body));
    assertEquals(503, refused.status());
    assertEquals("ServiceUnavailable", refused.reason());
    assertTrue(server.send("POST", maps(namespace), body).contains("\"uid\""));
    assertEquals(1, server.hits(fault));
  }

  @Test
  void timeMoves(Keelson server) {
    var before = server.freeze();
    assertEquals(Duration.ofHours(36), Duration.between(before, server.advance("36h")));
  }

  @Test
  void aSnapshotBringsAStateBack(Keelson server, @KeelsonExtension.TestNamespace String namespace) throws Exception {
    server.send("POST", maps(namespace), "{\"metadata\": {\"name\": \"kept\"}}");
    var kept = server.snapshot();
    server.send("DELETE", maps(namespace) + "/kept", null);
    server.restore(kept);
    server.settled();
    assertTrue(server.send("GET", maps(namespace) + "/kept", null).contains("kept"));
    assertTrue(Files.readString(server.kubeconfig()).contains(server.url()));
  }
}
