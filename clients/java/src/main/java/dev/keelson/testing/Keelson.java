package dev.keelson.testing;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A Kubernetes-compatible API server for tests, with time that moves, faults and snapshots. It needs the JDK alone: bodies are JSON texts.
 *
 * <pre>{@code
 * try (var server = Keelson.start("--apply=config/crd")) {
 *   var config = Config.fromKubeconfig(Files.readString(server.kubeconfig())); // of fabric8
 *   server.advance("24h");
 * }
 * }</pre>
 */
public final class Keelson implements AutoCloseable {
  private final Path folder;
  private final Process process;
  private final String token;
  private final String url;
  private final Path kubeconfig;
  private final HttpClient client;

  private Keelson(Path folder, Process process, String token, String ready) throws IOException, GeneralSecurityException {
    this.folder = folder;
    this.process = process;
    this.token = token;
    this.url = text(ready, "url");
    this.kubeconfig = Path.of(text(ready, "kubeconfig"));
    this.client = HttpClient.newBuilder().sslContext(trusting(text(ready, "ca"))).build();
  }

  /** Starts a server in memory on a free port, with flags of {@code keelson serve}. It ends with this process, however that ends. */
  public static Keelson start(String... flags) {
    try {
      var folder = Files.createTempDirectory("keelson-");
      var token = randomToken();
      var tokens = Files.writeString(folder.resolve("tokens.csv"), token + ",keelson-testing,1,\"system:masters\"\n");
      var command = new ArrayList<>(command());
      command.addAll(List.of("serve", "--store=memory", "--secure-port=0", "--output=json", "--exit-with-parent", "--test-endpoints"));
      command.addAll(List.of("--data-dir=" + folder, "--token-auth-file=" + tokens));
      command.addAll(List.of(flags));
      var process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      var line = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
      if (line == null) throw new IllegalStateException("keelson did not start; see its messages above");
      var server = new Keelson(folder, process, token, line);
      server.connect();
      return server;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  /**
   * Opens the connection. The first handshake of a JVM loads many classes: on a busy machine the server may not wait for its end, while the
   * next one is fast.
   */
  private void connect() {
    for (var attempt = 1; ; attempt++) {
      try {
        send("GET", "/readyz", null);
        return;
      } catch (UncheckedIOException error) {
        if (attempt == CONNECTION_ATTEMPTS) throw error;
      }
    }
  }

  private static final int CONNECTION_ATTEMPTS = 5;

  /** {@code https://HOST:PORT}. */
  public String url() {
    return url;
  }

  /** The file with the kubeconfig of the administrator, for client libraries. */
  public Path kubeconfig() {
    return kubeconfig;
  }

  /** Restores the state after the start, and removes faults. */
  public void reset() {
    send("POST", "/keelson/v1/reset", null);
  }

  /** Keeps the current state in memory; its name. */
  public String snapshot() {
    return text(send("POST", "/keelson/v1/snapshots", "{}"), "name");
  }

  /** Restores a snapshot, in milliseconds. Revisions go on, and watches see the changes. */
  public void restore(String snapshot) {
    send("POST", "/keelson/v1/snapshots/" + encoded(snapshot) + "/restore", null);
  }

  /** Waits until the server's own controllers have nothing left to do. */
  public void settled() {
    send("GET", "/keelson/v1/settled?timeoutSeconds=60", null);
  }

  /**
   * What clients have sent since the start or the last reset, as JSON. A filter is such as {@code verb=update} or
   * {@code userAgent=my-controller}.
   */
  public String requests(String... filters) {
    var query = Stream.of(filters).map(filter -> filter.split("=", 2)).map(pair -> encoded(pair[0]) + "=" + encoded(pair.length > 1 ? pair[1] : ""));
    return send("GET", "/keelson/v1/requests?" + query.collect(Collectors.joining("&")), null);
  }

  /** The changes of objects since the start or the last reset, as JSON. */
  public String changes() {
    return send("GET", "/keelson/v1/changes", null);
  }

  /** The time of the server. */
  public Instant now() {
    return clock("GET", null);
  }

  /** Moves the time of the server by a duration such as {@code 24h}. Whatever is due on the way happens in order and at its time. */
  public Instant advance(String duration) {
    return clock("POST", "{\"advance\": " + quoted(duration) + "}");
  }

  /** Stops the time of the server, until {@link #resume}; {@link #advance} still moves it. */
  public Instant freeze() {
    return clock("POST", "{\"frozen\": true}");
  }

  /** Lets the time of the server go on. */
  public Instant resume() {
    return clock("POST", "{\"frozen\": false}");
  }

  /** Makes requests fail: a fault in JSON, such as <code>{"verb": "update", "status": 409, "times": 1}</code>; its id. */
  public String addFault(String json) {
    return text(send("POST", "/keelson/v1/faults", json), "id");
  }

  /** The number of requests that a fault has struck. */
  public int hits(String fault) {
    var found = Pattern.compile("\"hits\"\\s*:\\s*(\\d+)").matcher(send("GET", "/keelson/v1/faults/" + encoded(fault), null));
    if (!found.find()) throw new IllegalStateException("no hits of " + fault);
    return Integer.parseInt(found.group(1));
  }

  public void clearFaults() {
    send("DELETE", "/keelson/v1/faults", null);
  }

  /** Makes a namespace for a test; its name. */
  public String createNamespace() {
    var name = "test-" + randomToken().substring(0, 8);
    send("POST", "/api/v1/namespaces", "{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": " + quoted(name) + "}}");
    return name;
  }

  /** Sends a request as administrator, with a JSON text or null; the text of the response. Throws {@link ApiException}. */
  public String send(String method, String path, String body) {
    var publisher = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
    var request = HttpRequest.newBuilder(URI.create(url + path))
        .method(method, publisher)
        .header("Authorization", "Bearer " + token)
        .header("Accept", "application/json")
        .header("Content-Type", "application/json")
        .build();
    try {
      var response = client.send(request, HttpResponse.BodyHandlers.ofString());
      if (response.statusCode() >= 400) throw new ApiException(method + " " + path, response.statusCode(), response.body());
      return response.body();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(error);
    }
  }

  @Override
  public void close() {
    process.destroy();
    process.onExit().join();
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
    } catch (IOException ignored) {
      // A temporary folder that stays does no harm.
    }
  }

  /** A response with an error. */
  public static final class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int status;
    private final String body;

    ApiException(String request, int status, String body) {
      super(request + ": " + status + " " + body);
      this.status = status;
      this.body = body;
    }

    /** That of HTTP. */
    public int status() {
      return status;
    }

    /** That of the API, such as {@code NotFound}; empty if there is none. */
    public String reason() {
      return field(body, "reason").orElse("");
    }
  }

  private Instant clock(String method, String body) {
    return Instant.parse(text(send(method, "/keelson/v1/clock", body), "time"));
  }

  /** The one that KEELSON names, or that on the PATH, or that of npm. */
  static List<String> command() {
    var named = System.getenv("KEELSON");
    if (named != null && !named.isBlank()) return List.of(named.trim().split("\\s+"));
    var path = System.getenv().getOrDefault("PATH", "");
    var isThere = Stream.of(path.split(File.pathSeparator)).anyMatch(folder -> Files.isExecutable(Path.of(folder, "keelson")));
    return isThere ? List.of("keelson") : List.of("npx", "keelson");
  }

  private static SSLContext trusting(String ca) throws IOException, GeneralSecurityException {
    Certificate certificate =
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(ca.getBytes(StandardCharsets.US_ASCII)));
    var store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    store.setCertificateEntry("keelson", certificate);
    var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }

  private static String randomToken() {
    var bytes = new byte[16];
    new SecureRandom().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private static String quoted(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }

  private static String text(String json, String name) {
    return field(json, name).orElseThrow(() -> new IllegalStateException("no " + name + " in " + json));
  }

  /** The first text of a name: enough for the answers that are read here, whose other texts come later. */
  private static java.util.Optional<String> field(String json, String name) {
    Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(json);
    return found.find() ? java.util.Optional.of(found.group(1).replace("\\n", "\n").replaceAll("\\\\(.)", "$1")) : java.util.Optional.empty();
  }
}
