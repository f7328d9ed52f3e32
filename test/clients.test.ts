// The clients for tests in other languages are run as their users would run them, each with its example.
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { KEELSON, patient, ROOT, run, type Scope, temporaryDirectory } from './kit.ts'
import { noteNotRun, programsNamed, testWith } from './programs.ts'

/** A copy of a client outside of this repository, with the command named. */
function copyOf(t: Scope, language: string): { readonly cwd: string; readonly env: NodeJS.ProcessEnv } {
  const cwd = temporaryDirectory(t)
  cpSync(join(ROOT, 'clients', language), cwd, { recursive: true })
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  return { cwd, env: { ...process.env, PATH: path, KEELSON: `${process.execPath} ${KEELSON}`, JAVA_TOOL_OPTIONS: SHORT_LIVED } }
}

/** Java compiles for programs that run long, and collects garbage on every processor. */
const SHORT_LIVED = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'

testWith('pytest', 'Python', patient, async (t, pytest) => {
  const { cwd, env } = copyOf(t, 'python')
  const args = ['-p', 'keelson_testing.pytest_plugin', '-p', 'no:cacheprovider', '-q']
  const { code, stdout, stderr } = await run(pytest, args, { cwd, env: { ...env, PYTHONPATH: cwd } })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^6 passed/m)
})

testWith('go', 'Go', patient, async (t, go) => {
  const { cwd, env } = copyOf(t, 'go')
  const offline = { GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' }
  const { code, stdout, stderr } = await run(go, ['test', '-count=1', './...'], { cwd, env: { ...env, ...offline } })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^ok\s+example\.com\/keelson-testing/m)
})

testWith('cargo', 'Rust', patient, async (t, program) => {
  const { cwd, env } = copyOf(t, 'rust')
  // The program of rustup looks at the name by which it is started, and not all links to it have the right one.
  const cargo = join(dirname(program), 'cargo')
  // Nobody debugs the result or compiles it again.
  const once = {
    // A machine may have a second Rust, whose compiler is of another version.
    PATH: [dirname(program), env['PATH']].join(delimiter),
    CARGO_TARGET_DIR: join(cwd, 'target'),
    CARGO_INCREMENTAL: '0',
    CARGO_PROFILE_DEV_DEBUG: '0',
    CARGO_PROFILE_TEST_DEBUG: '0',
  }
  const { code, stdout, stderr } = await run(cargo, ['test', '--offline'], { cwd, env: { ...env, ...once } })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^test a_server_for_tests \.\.\. ok$/m)
})

testWith('javac', 'Java, without the extension of JUnit', patient, async (t, javac) => {
  const { cwd, env } = copyOf(t, 'java')
  const [main, tests] = ['main', 'test'].map(part => join(cwd, `src/${part}/java/dev/keelson/testing`))
  const sources = [join(main!, 'Keelson.java'), join(tests!, 'Example.java')]
  const compiled = await run(javac, ['-Xlint:all', '-Werror', '-d', 'classes', ...sources], { cwd, env })
  assert.equal(compiled.code, 0, compiled.stderr)
  const java = join(dirname(javac), 'java')
  const { code, stdout, stderr } = await run(java, ['-ea', '-cp', 'classes', 'dev.keelson.testing.Example'], { cwd, env })
  assert.equal(code, 0, stderr)
  assert.equal(stdout, 'passed\n')
})

testWith('junit5', 'Java, with the extension of JUnit', patient, async (t, jars) => {
  const [javac] = programsNamed('javac')
  if (!javac) return void noteNotRun('javac', t.name)
  const { cwd, env } = copyOf(t, 'java')
  const [main, tests] = ['main', 'test'].map(part => join(cwd, `src/${part}/java/dev/keelson/testing`))
  const sources = [join(main!, 'Keelson.java'), join(main!, 'KeelsonExtension.java'), join(tests!, 'SettingsTest.java')]
  const names = ['junit-jupiter-api', 'junit-jupiter-engine', 'junit-platform-commons', 'junit-platform-engine', 'junit-platform-launcher']
  const more = ['junit-platform-reporting', 'junit-platform-console', 'opentest4j', 'apiguardian-api', 'picocli', 'univocity-parsers']
  const classPath = ['classes', ...[...names, ...more, 'opentest4j-reporting-events'].map(name => join(jars, `${name}.jar`))].join(
    delimiter,
  )
  const compiled = await run(javac, ['-cp', classPath, '-d', 'classes', ...sources], { cwd, env })
  assert.equal(compiled.code, 0, compiled.stderr)
  const java = join(dirname(javac), 'java')
  const args = ['-cp', classPath, 'org.junit.platform.console.ConsoleLauncher', '--select-class', 'dev.keelson.testing.SettingsTest']
  const { code, stdout, stderr } = await run(java, [...args, '--disable-banner', '--disable-ansi-colors'], { cwd, env })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /3 tests successful/)
})
