// Stopping and starting: persistence, shutdown, errors at start, and the rest of the command line.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { FLAGS } from '../src/flags/serve-flags.ts'
import {
  ask,
  CONFIG_MAPS,
  configMap,
  eventually,
  type Finished,
  KEELSON,
  keelson,
  patient,
  run,
  serveHere,
  startProcess,
  type Target,
  temporaryDirectory,
  Watching,
} from './kit.ts'
import { commandLines, keelsonHere } from './kits/command-here.ts'
import { noteNotRun } from './programs.ts'

const create = async (server: Target, name: string, data: Record<string, string> = {}) => {
  const { status, json, text } = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(name, data) })
  assert.equal(status, 201, text)
  return json
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const)
  test(`objects, their uids and their resource versions survive ${signal}`, patient, async t => {
    const first = await startProcess(t)
    const made = await create(first, 'kept', { a: '1' })
    const gone = await create(first, 'gone')
    await ask(first, `${CONFIG_MAPS}/gone`, { method: 'DELETE' })
    const namespaces = await ask(first, '/api/v1/namespaces')
    const before = await ask(first, CONFIG_MAPS)
    await first.stop(signal)
    const second = await serveHere(t, { dataDir: first.dataDir })
    assert.deepEqual((await ask(second, `${CONFIG_MAPS}/kept`)).json, made)
    assert.equal((await ask(second, `${CONFIG_MAPS}/gone`)).status, 404)
    const after = await ask(second, CONFIG_MAPS)
    assert.deepEqual(after.json.items, before.json.items)
    assert.ok(BigInt(after.json.metadata.resourceVersion) >= BigInt(before.json.metadata.resourceVersion), 'the revision went back')
    assert.deepEqual((await ask(second, '/api/v1/namespaces')).json.items, namespaces.json.items, 'what is there is not made again')
    const again = await create(second, 'gone')
    assert.notEqual(again.metadata.uid, gone.metadata.uid)
    assert.ok(BigInt(again.metadata.resourceVersion) > BigInt(gone.metadata.resourceVersion), 'a revision was used twice')
    assert.deepEqual(second.credentials, first.credentials, 'clients keep their certificates')
  })

test('a memory store keeps nothing', patient, async t => {
  const options = { dataDir: join(temporaryDirectory(t), 'data'), flags: ['--store', 'memory'] }
  const first = await startProcess(t, options)
  await create(first, 'forgotten')
  assert.equal((await first.stop()).code, 0)
  assert.equal((await ask(await serveHere(t, options), `${CONFIG_MAPS}/forgotten`)).status, 404)
})

test('a watch can be resumed after a restart, and misses nothing', patient, async t => {
  const first = await startProcess(t)
  const start = await create(first, 'start')
  const path = (version: string) => `${CONFIG_MAPS}?watch=true&resourceVersion=${version}`
  const watch = await Watching.open(t, first, path(start.metadata.resourceVersion))
  for (const name of ['a', 'b', 'c', 'd']) await create(first, name)
  const seen = await watch.until(({ object }) => object.metadata.name === 'b')
  assert.deepEqual(
    seen.map(({ type, object }) => [type, object.metadata.name]),
    [
      ['ADDED', 'a'],
      ['ADDED', 'b'],
    ],
  )
  await ask(first, `${CONFIG_MAPS}/a`, { method: 'DELETE' })
  await first.stop('SIGKILL')
  const second = await serveHere(t, { dataDir: first.dataDir })
  await create(second, 'e')
  const resumed = await Watching.open(t, second, path(seen.at(-1)?.object.metadata.resourceVersion))
  const rest = await resumed.until(({ object }) => object.metadata.name === 'e')
  assert.deepEqual(
    rest.map(({ type, object }) => [type, object.metadata.name]),
    [
      ['ADDED', 'c'],
      ['ADDED', 'd'],
      ['DELETED', 'a'],
      ['ADDED', 'e'],
    ],
  )
})

test('SIGTERM ends watches cleanly, completes requests in flight, accepts no more and exits with 0', patient, async t => {
  const server = await startProcess(t)
  const watch = await Watching.open(t, server, `${CONFIG_MAPS}?watch=true`)
  const { headers, answered, finish } = await halfSent(server, configMap('late'))
  server.child.kill('SIGTERM')
  assert.equal(await watch.end(), 'clean')
  await eventually('refusal of connections', () =>
    ask(server, '/readyz').then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED' || undefined,
    ),
  )
  finish()
  assert.equal(await answered, 201)
  assert.equal((await headers).connection, 'close')
  assert.deepEqual(await server.exited, { code: 0, signal: null })
  const again = await serveHere(t, { dataDir: server.dataDir })
  assert.equal((await ask(again, `${CONFIG_MAPS}/late`)).status, 200)
})

test('a second signal exits at once, whatever is in flight', patient, async t => {
  const server = await startProcess(t)
  const watch = await Watching.open(t, server, `${CONFIG_MAPS}?watch=true`)
  const { answered } = await halfSent(server, configMap('never'))
  server.child.kill('SIGTERM')
  assert.equal(await watch.end(), 'clean')
  assert.deepEqual(await server.stop('SIGTERM'), { code: 1, signal: null })
  await assert.rejects(answered)
})

/** A create of which the server has all but the end. */
async function halfSent({ url, credentials }: Target, object: object) {
  const body = JSON.stringify(object)
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), expect: '100-continue' }
  const outgoing = request(new URL(CONFIG_MAPS, url), { method: 'POST', agent: false, ...credentials, headers })
  const response = once(outgoing, 'response').then(([answer]) => answer.resume())
  const status = response.then(answer => answer.statusCode)
  const fields = response.then(answer => answer.headers)
  for (const promise of [status, fields]) promise.catch(() => {})
  outgoing.on('error', () => {})
  // The server says "continue" when the request is in its hands.
  const inHand = once(outgoing, 'continue')
  outgoing.flushHeaders()
  await inHand
  outgoing.write(body.slice(0, 10))
  return {
    answered: status,
    headers: fields,
    finish: () => outgoing.end(body.slice(10)),
  }
}

test('the ready line names the address and the kubeconfig, which is for its owner alone', patient, async t => {
  const server = await startProcess(t)
  assert.match(server.readyLine, /^keelson ready in \d+ ms {2}https:\/\/127\.0\.0\.1:\d+ {2}kubeconfig \S+\/admin\.kubeconfig$/)
  assert.equal(server.kubeconfig, join(server.dataDir, 'admin.kubeconfig'))
  assert.equal(statSync(server.kubeconfig).mode & 0o777, 0o600)
  assert.equal(statSync(server.dataDir).mode & 0o077, 0, 'keys and data are nobody else’s business')
  const printed = await keelsonHere('kubeconfig', '--data-dir', server.dataDir)
  assert.deepEqual(printed, { code: 0, signal: null, stdout: readFileSync(server.kubeconfig, 'utf8'), stderr: '' })
})

test('a kubeconfig is written where it is wanted, at every start', patient, async t => {
  const file = join(temporaryDirectory(t), 'deep', 'down', 'config')
  const options = { flags: ['--kubeconfig', file] }
  const first = await serveHere(t, options)
  assert.equal(first.kubeconfig, file)
  await first.stop()
  writeFileSync(file, '', { mode: 0o644 })
  chmodSync(file, 0o644)
  const second = await serveHere(t, { ...options, dataDir: first.dataDir })
  assert.match(readFileSync(file, 'utf8'), new RegExp(`server: ${second.url}\n`))
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

/** Refused in one line on standard error, with nothing on standard output: exit code 2 where the command line cannot be understood, else 1. */
function assertRefused({ code, stdout, stderr }: Finished, message: RegExp): void {
  assert.equal(code, /unknown argument|needs a value/.test(stderr) ? 2 : 1, stderr)
  assert.equal(stdout, '')
  assert.match(stderr, /^keelson: [^\n]+\n$/)
  assert.match(stderr, message)
}

test('a second server on the same data directory is rejected, and the first is not affected', patient, async t => {
  const first = await startProcess(t)
  assertRefused(
    await keelson('serve', '--data-dir', first.dataDir, '--secure-port', '0'),
    /process \d+ has it open; stop that one first or choose another data directory/,
  )
  await create(first, 'unharmed')
  assert.equal((await first.stop()).code, 0)
})

test('a port in use is a clear error', patient, async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const dataDir = temporaryDirectory(t)
  assertRefused(
    await keelson('serve', '--data-dir', dataDir, '--secure-port', String(port)),
    new RegExp(`port ${port} on 127.0.0.1 is in use`),
  )
  await serveHere(t, { dataDir })
})

test('files that cannot be read are named', patient, async t => {
  const directory = temporaryDirectory(t)
  const missing = join(directory, 'missing')
  const serve = ['serve', '--data-dir', join(directory, 'data'), '--secure-port', '0']
  const [tokens, certificate] = [join(directory, 'tokens'), join(directory, 'certificate')]
  writeFileSync(tokens, 'sesame,ali\n')
  writeFileSync(certificate, 'not a certificate\n')
  const cases: [flags: string[], message: string][] = [
    [['--token-auth-file', missing], `cannot read ${missing}`],
    [['--client-ca-file', missing], `cannot read ${missing}`],
    [['--tls-cert-file', missing, '--tls-private-key-file', missing], `cannot read ${missing}`],
    [['--token-auth-file', tokens], `${tokens}:1: a token needs at least 3 columns`],
    [['--client-ca-file', certificate], certificate],
    [['--tls-cert-file', certificate, '--tls-private-key-file', certificate], certificate],
  ]
  const refused = await commandLines(cases.map(([flags]) => [...serve, ...flags]))
  for (const [i, [, message]] of cases.entries()) assertRefused(refused[i]!, new RegExp(message))
  for (const { stderr } of refused) assert.doesNotMatch(stderr, /sesame/)
})

test('values that make no sense are refused by the name of their flag', patient, async () => {
  const cases: [flags: string[], message: RegExp][] = [
    [['--secure-port', 'http'], /--secure-port takes a number, not "http"/],
    [['--secure-port', '65536'], /--secure-port must be a port between 0 and 65535/],
    [['--secure-port'], /--secure-port needs a value/],
    [['--bind-address', '203.0.113.7', '--secure-port', '0'], /no address 203\.0\.113\.7/],
    [['--store', 'paper'], /--store takes/],
    [['--log-level', 'loud'], /--log-level takes/],
    [['--anonymous-auth', 'maybe'], /--anonymous-auth takes true or false/],
    [['--service-cluster-ip-range', '10.0.0.0'], /--service-cluster-ip-range/],
    [['--service-cluster-ip-range', '10.0.0.0/24,10.1.0.0/24'], /one IPv4 and one IPv6/],
    [['--group-domain', 'not a domain'], /--group-domain/],
    [['--feature-gates', 'Unheard=true'], /Unheard/],
    [['--feature-gates', 'nonsense'], /nonsense/],
    [['--controllers', 'unheard'], /no controller "unheard"/],
    [['--controllers', '*,-unheard'], /no controller "unheard"/],
    [['--service-node-port-range', '30000'], /--service-node-port-range takes two ports/],
    [['--service-node-port-range', '30000-70000'], /--service-node-port-range takes ports/],
    [['--history-window', '10'], /--history-window takes a duration such as 90s or 10m, not "10"/],
    [['--history-window', '-1h'], /--history-window must be at least 1s/],
    [['--bookmark-interval', '1ms'], /--bookmark-interval must be between/],
    [['--tls-cert-file', 'x'], /go together/],
    [['--data', 'x'], /unknown argument --data; did you mean --data-dir\?/],
    [['stray'], /unknown argument stray/],
  ]
  const refused = await commandLines(cases.map(([flags]) => ['serve', '--store', 'memory', ...flags]))
  for (const [i, [, message]] of cases.entries()) assertRefused(refused[i]!, message)
})

test('a data directory that cannot be one is a clear error', patient, async t => {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'file')
  writeFileSync(file, '')
  assertRefused(await keelson('serve', '--data-dir', file, '--secure-port', '0'), new RegExp(`${file}.*in the place of a directory`))
  assertRefused(await keelsonHere('kubeconfig', '--data-dir', directory), /it is written when a server starts: keelson serve --data-dir/)
})

test('a data directory that may not be written is a clear error', patient, async t => {
  const dataDir = join(temporaryDirectory(t), 'read-only')
  mkdirSync(dataDir)
  chmodSync(dataDir, 0o555)
  chmodSync(join(dataDir, '..'), 0o755)
  const asUser = process.getuid?.() === 0 ? { uid: NOBODY } : {}
  const reach = await run(process.execPath, [KEELSON, 'version'], asUser).catch(() => undefined)
  if (reach?.code !== 0) return t.skip(noteNotRun('another user', t.name))
  const args = ['serve', '--data-dir', dataDir, '--secure-port', '0']
  assertRefused(await run(process.execPath, [KEELSON, ...args], asUser), new RegExp(`${dataDir}.*permission is missing`))
})
const NOBODY = 65534

test('help names every command and flag, and version is one line', patient, async () => {
  const flags = FLAGS.map(({ name }) => `--${name}`)
  const commands = ['serve', 'run', 'kubectl', 'history', 'envtest', 'kube-apiserver', 'migrate', 'kubeconfig', 'version']
  const flagsOf: Record<string, readonly string[]> = {
    serve: flags,
    run: ['--store', '--secure-port'],
    history: ['--namespace', '--data-dir', '--kubeconfig'],
    envtest: ['--dir'],
    migrate: [
      '--from',
      '--to',
      '--skip-unreadable',
      '--etcd-cafile',
      '--etcd-certfile',
      '--etcd-keyfile',
      '--etcd-prefix',
      '--group-domain',
    ],
    kubeconfig: ['--data-dir', '--kubeconfig'],
  }
  const helps: readonly (readonly [args: readonly string[], words: readonly string[]])[] = [
    ...[['--help'], ['help'], ['-h'], []].map(args => [args, commands] as const),
    ...Object.entries(flagsOf).flatMap(([command, words]) =>
      [
        [command, '--help'],
        ['help', command],
      ].map(args => [args, [command, ...words]] as const),
    ),
  ]
  const printed = await commandLines(helps.map(([args]) => args))
  for (const [i, [args, words]] of helps.entries()) {
    const { code, stdout, stderr } = printed[i]!
    assert.deepEqual([code, stderr], [0, ''])
    const named = new Set(stdout.split(/[\s,]+/))
    const missing = words.filter(word => !named.has(word))
    assert.deepEqual(missing, [], `keelson ${args.join(' ')}`)
  }
  // One screen.
  assert.ok(printed[1]!.stdout.split('\n').length < 36)
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  for (const word of ['version', '--version']) assert.equal((await keelson(word)).stdout, `keelson ${version} (Kubernetes 1.37)\n`)
  const refusals: readonly [args: readonly string[], message: string][] = [
    [['sevre'], 'unknown command sevre; did you mean serve? See keelson help'],
    [['gibberish'], 'unknown command gibberish; see keelson help'],
    [['help', 'sevre'], 'unknown command sevre; did you mean serve? See keelson help'],
    // At 6256f0f1 this exited with 1.
    [['serve', '--data-dri=x'], 'unknown argument --data-dri=x; did you mean --data-dir? See keelson serve --help'],
    [['completion', 'csh'], 'keelson completion takes bash, zsh, fish and nothing else'],
  ]
  const refused = await commandLines(refusals.map(([args]) => args))
  for (const [i, [, message]] of refusals.entries()) assert.deepEqual([refused[i]!.code, refused[i]!.stderr], [2, `keelson: ${message}\n`])
})

test('a shell completes commands and flags', patient, async t => {
  const script = join(temporaryDirectory(t), 'completion')
  writeFileSync(script, (await keelson('completion', 'bash')).stdout)
  const complete = async (...words: string[]) => {
    const line = `. '${script}'; COMP_WORDS=(keelson ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _keelson; echo "\${COMPREPLY[*]}"`
    return (await run('bash', ['-c', line])).stdout.trim()
  }
  assert.equal(await complete('his'), 'history')
  assert.equal(await complete('serve', '--secure'), '--secure-port')
  assert.equal(await complete('help', 'mig'), 'migrate')
})
