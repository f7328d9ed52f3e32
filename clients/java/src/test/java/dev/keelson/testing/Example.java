package dev.keelson.testing;

import java.time.Duration;

/** The same without JUnit: java -ea -cp … dev.keelson.testing.Example. */
final class Example {
  public static void main(String[] args) {
    try (var server = Keelson.start("--nodes=0")) {
      var maps = "/api/v1/namespaces/" + server.createNamespace() + "/configmaps";
      var body = "{\"metadata\": {\"name\": \"a\"}}";
      var fault = server.addFault("{\"verb\": \"create\", \"resource\": \"configmaps\", \"status\": 503, \"times\": 1}");
      try {
        server.send("POST", maps, body);
        throw new AssertionError("the fault did not strike");
      } catch (Keelson.ApiException refused) {
        assert refused.status() == 503 && refused.reason().equals("ServiceUnavailable") : refused;
      }
      server.send("POST", maps, body);
      assert server.hits(fault) == 1;
      server.clearFaults();

      assert server.requests("verb=create", "status=503").contains("\"path\":\"" + maps + "\"") : server.requests();
      assert !server.requests("verb=update").contains(maps) : server.requests();
      assert server.changes().contains("\"kind\":\"ConfigMap\"") : server.changes();

      var before = server.freeze();
      assert Duration.between(before, server.advance("36h")).equals(Duration.ofHours(36));
      server.resume();

      var kept = server.snapshot();
      server.send("DELETE", maps + "/a", null);
      server.restore(kept);
      server.settled();
      assert server.send("GET", maps + "/a", null).contains("\"uid\"");
      server.reset();
      try {
        server.send("GET", maps + "/a", null);
        throw new AssertionError("it is there after the reset");
      } catch (Keelson.ApiException gone) {
        assert gone.reason().equals("NotFound") : gone;
      }
    }
    System.out.println("passed");
  }
}
