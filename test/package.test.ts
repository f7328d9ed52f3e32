// The package as users install it: it is packed, installed into an empty folder, and used from there.
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, patient, ROOT, run, type Scope, startProcess, temporaryDirectory } from './kit.ts'
import { noteNotRun, programsNamed } from './programs.ts'

const SOURCES = ['runners', 'bin', 'console', 'dist', 'scripts', 'src', 'package.json', 'package-lock.json']
const MAY_BE_THERE = ['README.md', 'CHANGELOG.md', 'LICENSE']

test('the packed package installs into an empty folder and works there', { timeout: 2 * patient.timeout }, async t => {
  const { tarball, files } = await pack(t)

  await t.test('it holds the built server and no sources, tests or paths of the machine it was built on', () => {
    const expected =
      /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|bin\/(begin\.js|etcd\.js|keelson\.js|require-node\.js|start\.js|package\.json)|runners\/(jest\.cjs|node-test\.js|vitest\.js|runner\.d\.c?ts)|dist\/(cli|compiled-code|controller|keelson|library|supervisor)\.cjs|dist\/(controller|keelson)\.(js|d\.ts|d\.cts)|dist\/console\/(index\.html|assets\/[\w.-]+\.(js|css|svg|woff2))(\.br|\.gz)?)$/
    assert.deepEqual(
      files.filter(file => !expected.test(file)),
      [],
    )
    for (const needed of [
      'bin/keelson.js',
      'bin/begin.js',
      'bin/etcd.js',
      'runners/vitest.js',
      'dist/cli.cjs',
      'dist/compiled-code.cjs',
      'dist/controller.cjs',
      'dist/controller.js',
      'dist/controller.d.ts',
      'dist/controller.d.cts',
      'dist/keelson.cjs',
      'dist/keelson.js',
      'dist/library.cjs',
      'dist/supervisor.cjs',
      'dist/keelson.d.ts',
      'dist/keelson.d.cts',
      'dist/console/index.html',
    ])
      assert.ok(files.includes(needed), `${needed} is missing`)
  })

  const folder = temporaryDirectory(t)
  const installed = join(folder, 'node_modules/keelson')
  writeFileSync(join(folder, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }')
  await succeed('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', tarball], folder)
  for (const file of textFiles(installed)) {
    const text = readFileSync(file, 'utf8')
    assert.ok(!text.includes(ROOT) && !text.includes(folder), `${file} names a path of this machine`)
  }

  await t.test('npx finds it, and runs a server', async t => {
    assert.match(await succeed('npx', ['--no-install', 'keelson', 'version'], folder), /^keelson \d/)
    const server = await startProcess(t, { command: [process.execPath, join(folder, 'node_modules/.bin/keelson')], cwd: folder })
    assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('installed') })).status, 201)
    const yaml = await ask(server, `${CONFIG_MAPS}/installed`, { headers: { accept: 'application/yaml' } })
    assert.match(yaml.text, /^ {2}name: installed$/m)
    assert.deepEqual(await server.stop(), { code: 0, signal: null })
  })

  await t.test('npx keelson run gives kubectl a server, and npx keelson envtest gives harnesses their programs', async t => {
    const [kubectl] = programsNamed('kubectl')
    if (kubectl === undefined) return t.skip(noteNotRun('kubectl', t.name))
    const env = { ...process.env, PATH: `${dirname(kubectl)}:${process.env['PATH']}`, HOME: folder, XDG_CACHE_HOME: join(folder, 'cache') }
    writeFileSync(join(folder, 'deployment.yaml'), DEPLOYMENT)
    const script = 'kubectl apply -f deployment.yaml && kubectl rollout status deployment/web && kubectl get pods -o name | wc -l'
    const { code, stdout, stderr } = await run('npx', ['--no-install', 'keelson', 'run', '--', 'sh', '-c', script], { cwd: folder, env })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^deployment\.apps\/web created\n[\s\S]*successfully rolled out\n\s*2\n$/)
    const assets = await run('npx', ['--no-install', 'keelson', 'envtest'], { cwd: folder, env })
    assert.equal(assets.code, 0, assets.stderr)
    for (const program of ['kube-apiserver', 'etcd']) {
      const { stdout } = await run(join(assets.stdout.trim(), program), ['--version'], { cwd: folder })
      assert.match(stdout, /^(Kubernetes v1\.37\.|etcd Version: )/)
    }
  })

  await t.test('it is a library there, by import and by require, also on Node 20.0', async t => {
    const use = `start().then(async server => {
      const answer = await server.fetch('/api/v1/namespaces/default')
      console.log(VERSION, (await answer.json()).status.phase)
      await server.close()
      await start({ prot: 1 }).catch(error => console.log(error instanceof ConfigError))
    })`
    writeFileSync(join(folder, 'use.mjs'), `import { ConfigError, start, VERSION } from 'keelson'\n${use}`)
    writeFileSync(join(folder, 'use.cjs'), `const { ConfigError, start, VERSION } = require('keelson')\n${use}`)
    for (const node of [process.execPath, ...programsNamed('node-20.0'), ...programsNamed('node-26')])
      for (const file of ['use.mjs', 'use.cjs']) assert.match(await succeed(node, [file], folder), /^\d+\.\d+\.\d+\S* Active\ntrue\n$/)
    writeFileSync(join(folder, 'both.mjs'), BOTH)
    assert.equal(await succeed(process.execPath, ['both.mjs'], folder), 'true\n')
    for (const node of programsNamed('node-18')) {
      const { code, stderr } = await run(node, ['use.cjs'], { cwd: folder })
      assert.equal(code, 1)
      assert.match(stderr, /Error: keelson needs Node 20 or newer; this is v18\./)
    }
    for (const name of ['node-18', 'node-20.0', 'node-26'] as const) if (programsNamed(name).length === 0) noteNotRun(name, t.name)
  })

  await t.test('Jest finds it with its default settings', async t => {
    const [jest] = programsNamed('jest')
    if (jest === undefined) return t.skip(noteNotRun('jest', t.name))
    const project = join(folder, 'jest')
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), '{ "name": "tested", "private": true }')
    writeFileSync(join(project, 'keelson.test.js'), JEST)
    await succeed(process.execPath, [jest, '--rootDir', project], project)
  })

  await t.test('fixtures give servers and namespaces to the tests of node:test, Jest and Vitest', async t => {
    const files = {
      'a.test.mjs': fixtureTest('keelson/node-test', "import { test } from 'node:test'"),
      'jest/fixture.test.js': JEST_FIXTURE,
    }
    mkdirSync(join(folder, 'jest'), { recursive: true })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    await succeed(process.execPath, ['--test', 'a.test.mjs'], folder)
    // Vitest's hooks are those of node:test under other names.
    mkdirSync(join(folder, 'node_modules/vitest'))
    writeFileSync(join(folder, 'node_modules/vitest/package.json'), '{ "name": "vitest", "type": "module", "exports": "./index.js" }')
    const hooks = "export { after as afterAll, afterEach, before as beforeAll, beforeEach, test } from 'node:test'\n"
    writeFileSync(join(folder, 'node_modules/vitest/index.js'), hooks)
    const shared = fixtureTest('keelson/vitest', "import { test } from 'vitest'", "{ per: 'worker', nodes: 0 }")
    writeFileSync(join(folder, 'b.test.mjs'), shared)
    await succeed(process.execPath, ['--test', 'b.test.mjs'], folder)
    const [jest] = programsNamed('jest')
    if (jest === undefined) return t.skip(noteNotRun('jest', t.name))
    const project = join(folder, 'jest')
    await succeed(process.execPath, [jest, '--rootDir', project, 'fixture'], project)
  })

  await t.test('its types are found by every module resolution, without those of Node, and are strict', async () => {
    const check = (names: readonly string[], text: string, ...flags: string[]) => {
      for (const name of names) writeFileSync(join(folder, name), text)
      return run(process.execPath, [tsc(), '--noEmit', '--strict', '--skipLibCheck', 'false', ...flags, ...names], { cwd: folder })
    }
    const ways = ['--module node16 --target es2022', '--module esnext --moduleResolution bundler --target es2022']
    // With what a browser has, with what `await using` needs, and with nothing but the language.
    const libs = ['es2022', 'es2022,dom', 'es2023,esnext.disposable']
    for (const flags of ways.flatMap(way => libs.map(lib => `${way} --lib ${lib}`.split(' ')))) {
      const { code, stdout } = await check(['good.mts', 'good.cts'], GOOD, ...flags)
      assert.deepEqual([code, stdout], [0, ''], flags.join(' '))
    }
    const [flags] = ways.map(way => way.split(' '))
    const disposed = "import { start } from 'keelson'\nexport const f = async () => { await using server = await start(); server.url }\n"
    assert.equal((await check(['using.mts'], disposed, ...flags!, '--lib', 'es2023,esnext.disposable')).stdout, '')
    const bad = `import { start } from 'keelson'\nvoid start({ port: 'any' })\nvoid start({ prot: 1 })\n${MISTAKES}`
    const { stdout } = await check(['bad.mts'], bad, ...flags!)
    assert.match(stdout, /Type 'string' is not assignable to type 'number'/)
    assert.match(stdout, /'prot' does not exist in type 'StartOptions'/)
    assert.match(stdout, /Type '"deploymnet"' is not assignable to type 'BuiltInKind'/)
    assert.match(stdout, /Property 'replcas' does not exist/)
  })
})

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: main, image: example.com/web }] }
`

/** Two tests that must not see each other's objects. */
const fixtureTest = (from: string, runner: string, options = '') => `
  import assert from 'node:assert/strict'
  import { useKeelson } from '${from}'
  ${runner}
  const keelson = useKeelson(${options})
  ${FIXTURE_TESTS}`
const FIXTURE_TESTS = `
  for (const name of ['one', 'two'])
    test(name, async () => {
      const path = '/api/v1/namespaces/' + keelson.namespace + '/configmaps'
      const answer = await keelson.server.fetch(path, { method: 'POST', body: JSON.stringify({ metadata: { name: 'same' } }) })
      assert.equal(answer.status, 201)
    })`
const JEST_FIXTURE = `
  const assert = require('node:assert/strict')
  const { useKeelson } = require('keelson/jest')
  const keelson = useKeelson({ nodes: 0 })
  ${FIXTURE_TESTS}`

/** A test as people write it for Jest. */
const JEST = `
  const { start, ConfigError } = require('keelson')
  test('a server in a test', async () => {
    const server = await start()
    const body = JSON.stringify({ metadata: { name: 'a' }, data: { k: 'v' } })
    const answer = await server.fetch('/api/v1/namespaces/default/configmaps', { method: 'POST', body })
    expect(answer.status).toBe(201)
    await expect(start({ prot: 1 })).rejects.toBeInstanceOf(ConfigError)
    await server.close()
  })
`

/** Import and require give the same library. */
const BOTH = `
  import { createRequire } from 'node:module'
  import { ConfigError } from 'keelson'
  console.log(createRequire(import.meta.url)('keelson').ConfigError === ConfigError)
`

/** A name that no built-in kind has, and a field that the shape lacks. */
const MISTAKES = `
import type { BuiltInKind, RunningServer } from 'keelson'
export const kind: BuiltInKind = 'deploymnet'
export const size = async (server: RunningServer) => (await server.get<{ spec: { replicas: number } }>('deployment/web')).spec.replcas
`

const GOOD = `
  import { type BuiltInKind, ConfigError, type RunningServer, start, type StartOptions, StoreUnavailable, VERSION } from 'keelson'
  import { type Api, connect, informer, workQueue } from 'keelson/controller'
  export const api = (server: RunningServer): Api => connect(server.fetch)
  export const watched = (server: RunningServer, signal: any) =>
    informer(api(server).of({ apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }), { signal, onError: () => {} }).list()[0]?.metadata.name
  export const queue = (signal: any) => workQueue<string>({ name: 'a', reconcile: async () => 5, signal, onError: () => {} })
  export const builtIn: BuiltInKind = 'deployment'
  export const sizes = async (server: RunningServer): Promise<number[]> => {
    const web = await server.get<{ spec: { replicas: number } }>('deployment/web')
    const widget = await server.get('widgets.example.com/any')
    const listed = await server.list<{ spec: { replicas: number } }>('deployment')
    return [web.spec.replicas, widget['spec'].size, ...listed.map(each => each.spec.replicas)]
  }
  const options: StartOptions = { port: 0, controllers: ['none'], oidc: { clientId: 'a' } }
  export const used: (Error | string)[] = [new ConfigError('a'), new StoreUnavailable('b'), VERSION]
  export async function use(): Promise<string> {
    const server: RunningServer = await start(options)
    const answer = await server.fetch('/version', { method: 'GET', headers: { accept: '*/*' } })
    const text: string = await answer.text()
    await server.close()
    return server.url + server.kubeconfig + answer.status + text
  }
`

/**
 * Packs a copy of the checkout, as it was built before the tests: a build of its own would take as long as all else here.
 */
async function pack(t: Scope): Promise<{ tarball: string; files: string[] }> {
  const copy = temporaryDirectory(t)
  for (const name of [...SOURCES, ...MAY_BE_THERE])
    if (existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  const { scripts } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8'))
  assert.equal(scripts.prepack, scripts.build, 'what is packed was built right before')
  // Whatever lies about must not come along.
  mkdirSync(join(copy, 'keelson-data'))
  writeFileSync(join(copy, 'keelson-data/admin.kubeconfig'), 'secret')
  const printed = await succeed('npm', ['pack', '--json', '--ignore-scripts', '--loglevel=error'], copy)
  const [{ filename, files }] = JSON.parse(printed.slice(printed.indexOf('[\n')))
  return { tarball: join(copy, filename), files: files.map((file: { path: string }) => file.path) }
}

async function succeed(program: string, args: string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, { cwd, env: process.env })
  assert.equal(code, 0, `${program} ${args.join(' ')}: ${stderr}${stdout}`)
  return stdout
}

const tsc = () => join(ROOT, 'node_modules/typescript/bin/tsc')

const textFiles = (directory: string) =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter(file => !file.includes('node_modules') && /\.(c?js|json|d\.ts|md)$/.test(file))
    .map(file => join(directory, file))
