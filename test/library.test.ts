// The server as a library: several in one process share nothing, and leave nothing behind.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as library from '../src/index.ts'
import { ConfigError, type RunningServer, type StartOptions, start } from '../src/index.ts'
import { OPTION_NAMES } from '../src/start-options.ts'
import { ask, CONFIG_MAPS, configMap, patient, ROOT, run, startInProcess, targetOf, temporaryDirectory } from './kit.ts'

const create = (server: RunningServer, name: string) => server.fetch(CONFIG_MAPS, { method: 'POST', body: JSON.stringify(configMap(name)) })
const names = async (server: RunningServer) => {
  const { items } = (await (await server.fetch(CONFIG_MAPS)).json()) as { items: { metadata: { name: string } }[] }
  return items.map(item => item.metadata.name)
}

test('ten servers at once share nothing', patient, async t => {
  const directory = temporaryDirectory(t)
  const kept = (i: number) => (i % 2 === 0 ? {} : { dataDir: join(directory, String(i)) })
  const servers = await Promise.all(Array.from({ length: 10 }, (_, i) => startInProcess(t, kept(i))))
  assert.equal(new Set(servers.map(({ url }) => url)).size, 10)
  assert.equal(new Set(servers.map(({ kubeconfig }) => kubeconfig)).size, 10)
  assert.equal(new Set(servers.map(({ credentials }) => credentials.ca)).size, 10)
  const made = await Promise.all(servers.map((server, i) => create(server, `only-${i}`)))
  for (const answer of made) assert.equal(answer.status, 201)
  assert.deepEqual(
    await Promise.all(servers.map(names)),
    servers.map((_, i) => [`only-${i}`]),
  )
  const [first, second] = servers as [(typeof servers)[0], (typeof servers)[0]]
  assert.equal((await ask({ ...second, credentials: { ...first.credentials, ca: second.credentials.ca } }, CONFIG_MAPS)).status, 401)
  await assert.rejects(ask({ ...second, credentials: first.credentials }, CONFIG_MAPS), 'another authority')
})

test('servers count their own requests and objects', patient, async t => {
  const busy = await startInProcess(t)
  const idle = await startInProcess(t)
  for (let i = 0; i < 5; i++) await create(busy, `counted-${i}`)
  const lines = async (server: RunningServer) => (await (await server.fetch('/metrics')).text()).split('\n')
  const counted = (name: string) => async (server: RunningServer) =>
    (await lines(server))
      .filter(line => line.startsWith(`${name}{`) && line.includes('resource="configmaps"'))
      .map(line => line.split('} ')[1])
  const requests = counted('apiserver_request_total')
  assert.deepEqual([await requests(busy), await requests(idle)], [['5'], []])
  const objects = counted('apiserver_resource_objects')
  // Every server has two: the start of tracking legacy tokens, and its certificate authorities.
  assert.deepEqual([await objects(busy), await objects(idle)], [['7'], ['2']])
})

test('closing one server does not affect the others, and closing again does nothing', patient, async t => {
  const first = await startInProcess(t)
  const second = await startInProcess(t)
  await Promise.all([first.close(), first.close()])
  await first.close()
  await assert.rejects(first.fetch('/healthz'))
  assert.equal((await second.fetch('/healthz')).status, 200)
})

test('a server on a data directory finds again what it wrote, and may be opened once', patient, async t => {
  const dataDir = temporaryDirectory(t)
  const first = await startInProcess(t, { dataDir })
  await create(first, 'kept')
  await assert.rejects(start({ dataDir }), /has it open/)
  await first.close()
  const second = await startInProcess(t, { dataDir })
  assert.deepEqual(await names(second), ['kept'])
  assert.deepEqual(targetOf(second.kubeconfig).credentials, first.credentials)
})

test('fetch takes methods, headers, bodies and signals', patient, async t => {
  const server = await startInProcess(t)
  await create(server, 'one')
  const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: '{"data":{"a":"1"}}' }
  assert.deepEqual(((await (await server.fetch(`${CONFIG_MAPS}/one`, patch)).json()) as { data: object }).data, { a: '1' })
  const table = await server.fetch(CONFIG_MAPS, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } })
  assert.equal(((await table.json()) as { kind: string }).kind, 'Table')
  const controller = new AbortController()
  const watch = await server.fetch(`${CONFIG_MAPS}?watch=true`, { signal: controller.signal })
  controller.abort()
  await assert.rejects(watch.text())
})

test('the library is what its types say', () => {
  const declared: typeof import('../src/public.d.ts') = library
  assert.deepEqual(Object.keys(declared).sort(), [
    'ApiError',
    'ConfigError',
    'StoreUnavailable',
    'VERSION',
    'explore',
    'fixtureFor',
    'start',
  ])
})

test('options that do not exist or make no sense are refused, in the names of the options', patient, async () => {
  const refused = async (options: object) => {
    const error = await start(options).then(
      server => server.close().then(() => undefined),
      (error: Error) => error,
    )
    assert.ok(error instanceof ConfigError, `${JSON.stringify(options)}: ${error}`)
    assert.doesNotMatch(error.message, /--/)
    return error.message
  }
  assert.equal(await refused({ prot: 1 }), 'there is no option prot; did you mean port?')
  assert.match(
    await refused({ gibberish: 1 }),
    /^there is no option gibberish; the options are store, etcdServers, .*dataDir, host, port, /,
  )
  assert.equal(await refused({ datadir: 'a' }), 'there is no option datadir; did you mean dataDir?')
  assert.equal(await refused({ 'secure-port': 1 }), 'there is no option secure-port; did you mean port?')
  assert.match(await refused({ oidc: { issuer: 'https://a' } }), /^there is no option oidc\.issuer; /)
  assert.match(await refused({ toString: 1 }), /^there is no option toString/)
  assert.match(await refused({ __proto__: null, constructor: 1 }), /^there is no option constructor/)
  assert.equal(await refused({ port: -1 }), 'port must be a port between 0 and 65535, not -1')
  assert.equal(await refused({ port: '6443' }), 'port must be a port between 0 and 65535, not "6443"')
  assert.equal(await refused({ controllers: 'none' }), 'controllers must be a list of strings, not "none"')
  assert.match(await refused({ controllers: ['nobody'] }), /^controllers: there is no controller "nobody"/)
  assert.equal(await refused({ store: 'disk' }), 'store must be embedded, memory, etcd, not "disk"')
  assert.match(await refused({ historyMs: 1 }), /^historyMs must be at least 1s/)
  assert.match(await refused({ oidc: { issuerUrl: 'https://a' } }), /^oidc\.issuerUrl and oidc\.clientId go together/)
  assert.match(await refused({ tlsCertFile: 'a' }), /^tlsCertFile and tlsPrivateKeyFile go together/)
  assert.match(await refused({ featureGates: 'Nope=true' }), /^featureGates: unknown feature gate Nope/)
  const peers = { peerAdvertiseIp: '10.0.0.1', peerAdvertisePort: 6443, featureGates: 'UnknownVersionInteroperabilityProxy=false' }
  assert.equal(
    await refused({ store: 'etcd', etcdServers: ['http://127.0.0.1:1'], ...peers }),
    '[peerAdvertiseIp requires UnknownVersionInteroperabilityProxy feature to be turned on, peerAdvertisePort requires UnknownVersionInteroperabilityProxy feature to be turned on]',
  )
  assert.match(await refused({ tokenAuthFile: '/nowhere/tokens' }), /cannot read \/nowhere\/tokens/)
  assert.match(await refused([]), /^options must be an object/)
})

test('an option that is undefined is as if it were not given', patient, async t => {
  const options = { store: undefined, port: undefined, dataDir: undefined, oidc: { usernameClaim: undefined } } as unknown as StartOptions
  const server = await startInProcess(t, options)
  assert.equal((await server.fetch('/healthz')).status, 200)
})

test('every option is on the page that documents them, and no others', () => {
  const [, options = ''] = readFileSync(join(ROOT, 'docs/library.md'), 'utf8').split('\n## Options\n')
  const documented = [...options.matchAll(/^\| `([a-zA-Z0-9.]+)` \|/gm)].map(([, name]) => name)
  assert.deepEqual(documented.sort(), [...OPTION_NAMES].sort())
})

test('the page says of every option what its declaration says', () => {
  const [, options = ''] = readFileSync(join(ROOT, 'docs/library.md'), 'utf8').split('\n## Options\n')
  const rows = [...options.matchAll(/^\| `(?:\w+\.)*(\w+)` \| .* \| (.*) \|$/gm)].map(([, name, text]) => `${name}: ${plain(text!)}`)
  const declared = new Set(
    [...readFileSync(join(ROOT, 'src/public.d.ts'), 'utf8').matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*readonly (\w+)\??:/g)].map(
      ([, comment, name]) => `${name}: ${plain(comment!.replace(/\n\s*\*/g, ' '))}`,
    ),
  )
  assert.ok(rows.length > 100)
  assert.deepEqual(
    rows.filter(row => !declared.has(row)),
    [],
  )
})

/** A text without the marks of links and code. */
const plain = (text: string) =>
  text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .replace(/\s+/g, ' ')
    .trim()

test('after close the process exits, with watches and connections open', patient, async t => {
  const script = `
    import { start } from ${JSON.stringify(new URL('../dist/keelson.js', import.meta.url).href)}
    const open = []
    for (const options of [{}, { dataDir: ${JSON.stringify(temporaryDirectory(t))} }]) {
      const server = await start(options)
      for (let i = 0; i < 3; i++) open.push(await server.fetch('${CONFIG_MAPS}?watch=true'))
      await server.fetch('/api/v1/namespaces')
      await server.close()
    }
    for (const watch of open) await watch.text()
    const failing = await start({ port: -1 }).catch(() => 'refused')
    console.log('closed', open.length, failing)
  `
  const file = join(temporaryDirectory(t), 'script.mjs')
  writeFileSync(file, script)
  const { code, stdout, stderr } = await run(process.execPath, [file])
  assert.deepEqual([code, stdout, stderr], [0, 'closed 6 refused\n', ''])
})
