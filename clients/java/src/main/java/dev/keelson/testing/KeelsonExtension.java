package dev.keelson.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives tests of JUnit 5 a server: one for each class, as a parameter of the type {@link Keelson}, and a namespace for each test, as a String
 * with {@link TestNamespace}. Faults are gone after each test, and a frozen clock goes on.
 *
 * <pre>{@code
 * @KeelsonExtension.Enabled(flags = "--apply=config/crd")
 * class SettingsTest {
 *   @Test
 *   void test(Keelson server, @KeelsonExtension.TestNamespace String namespace) {}
 * }
 * }</pre>
 */
public final class KeelsonExtension implements ParameterResolver, AfterEachCallback {
  @Target(ElementType.TYPE)
  @Retention(RetentionPolicy.RUNTIME)
  @ExtendWith(KeelsonExtension.class)
  public @interface Enabled {
    /** Flags of {@code keelson serve}. */
    String[] flags() default {};
  }

  @Target(ElementType.PARAMETER)
  @Retention(RetentionPolicy.RUNTIME)
  public @interface TestNamespace {}

  private static final Namespace OWN = Namespace.create(KeelsonExtension.class);

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == Keelson.class || parameter.isAnnotated(TestNamespace.class);
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    var server = serverOf(context);
    if (parameter.getParameter().getType() == Keelson.class) return server;
    return context.getStore(OWN).getOrComputeIfAbsent("namespace", key -> new MadeNamespace(server), MadeNamespace.class).name;
  }

  @Override
  public void afterEach(ExtensionContext context) {
    var server = serverOf(context);
    server.clearFaults();
    server.resume();
  }

  private static Keelson serverOf(ExtensionContext context) {
    var type = context.getRequiredTestClass();
    var enabled = type.getAnnotation(Enabled.class);
    var flags = enabled == null ? new String[0] : enabled.flags();
    // The context of the class keeps it for all its tests.
    var ofClass = context.getTestMethod().isPresent() ? context.getParent().orElse(context) : context;
    return ofClass.getStore(OWN).getOrComputeIfAbsent("server", key -> new StartedServer(flags), StartedServer.class).server;
  }

  private static final class StartedServer implements CloseableResource {
    final Keelson server;

    StartedServer(String[] flags) {
      server = Keelson.start(flags);
    }

    @Override
    public void close() {
      server.close();
    }
  }

  private static final class MadeNamespace implements CloseableResource {
    final Keelson server;
    final String name;

    MadeNamespace(Keelson server) {
      this.server = server;
      name = server.createNamespace();
    }

    @Override
    public void close() {
      server.send("DELETE", "/api/v1/namespaces/" + name, null);
    }
  }
}
