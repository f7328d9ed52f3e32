// Encryption at rest, by real servers over HTTPS on both stores: keys of the data folder, rotation, wrong keys, KMS plugins, migration.
import assert from 'node:assert/strict'
import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { KMS_TIMES, type KmsTimes } from '../src/encryption/kms/plugin-health.ts'
import type { StartOptions } from '../src/public.d.ts'
import { folderKeyFile, openFolderEncryption } from '../src/server/data/folder-encryption.ts'
import { lookAtFiles } from '../src/server/files/follow-file.ts'
import { startServer } from '../src/server/start.ts'
import { configOf } from '../src/start-options.ts'
import { openEmbeddedStore } from '../src/storage/embedded/embedded.ts'
import { openEtcdStore } from '../src/storage/etcd/etcd.ts'
import type { Store } from '../src/storage/store.ts'
import { ask, CONFIG_MAPS, configMap, eventually, patient, type Scope, type Target, targetOf, temporaryDirectory, Watching } from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { startEtcd } from './kits/etcd.ts'
import { KmsPlugin } from './kits/kms-plugin.ts'
import { plainFormat } from './kits/storage/plain-format.ts'
import { testWith } from './programs.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const PASSWORD = 'correct horse battery staple'
const secret = (name: string, password = PASSWORD) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  data: { password: Buffer.from(password).toString('base64') },
})
const keyNamed = (name: string) => ({ name, secret: Buffer.alloc(32, name).toString('base64') })
const aescbc = (...names: string[]) => ({ aescbc: { keys: names.map(keyNamed) } })
const IDENTITY = { identity: {} }
const configuration = (providers: readonly object[], resources = ['secrets']) =>
  JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources: [{ resources, providers }] })

type Running = Target & { close(): Promise<void> }

/** A store on which one server after another runs. */
type Ground = {
  readonly name: string
  serve(options?: StartOptions, kmsTimes?: KmsTimes): Promise<Running>
  /** The stored bytes of a Secret; no server may run. */
  stored(name: string): Promise<string>
  file(name: string, text: string): string
}

async function served(t: Scope, options: StartOptions, kmsTimes?: KmsTimes): Promise<Running> {
  const server = await startServer(configOf({ controllers: ['storage-version-migrator-controller'], nodes: 0, port: 0, ...options }), {
    ...(kmsTimes && { kmsTimes }),
  })
  let closing: Promise<void> | undefined
  const close = () => (closing ??= server.close())
  t.after(close)
  return { ...targetOf(server.kubeconfig), close }
}

const fileIn = (folder: string) => (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

async function rawBytes(store: Store, key: string): Promise<string> {
  try {
    const { entry } = await store.get(key)
    return Buffer.from(entry?.value ?? []).toString('latin1')
  } finally {
    await store.close()
  }
}

function embedded(t: Scope): Ground & { readonly dataDir: string } {
  const folder = temporaryDirectory(t)
  const dataDir = join(folder, 'data')
  return {
    name: 'embedded',
    dataDir,
    serve: (options, kmsTimes) => served(t, { store: 'embedded', dataDir, ...options }, kmsTimes),
    stored: async name => rawBytes(await openEmbeddedStore({ dir: join(dataDir, 'store') }), `/core/secrets/default/${name}`),
    file: fileIn(folder),
  }
}

async function onEtcd(t: Scope, program: string): Promise<Ground> {
  const cluster = await startEtcd({ program })
  t.after(() => cluster[Symbol.asyncDispose]())
  return {
    name: 'etcd',
    serve: (options, kmsTimes) => served(t, { store: 'etcd', etcdServers: cluster.endpoints, ...options }, kmsTimes),
    stored: async name =>
      rawBytes(await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/registry', format: plainFormat }), `/secrets/default/${name}`),
    file: fileIn(temporaryDirectory(t)),
  }
}

/** Runs a test on both stores. */
function onBothStores(title: string, run: (ground: Ground, t: Scope) => Promise<void>): void {
  test(`${title}, on the embedded store`, patient, t => run(embedded(t), t))
  testWith('etcd', `${title}, on etcd`, patient, async (t, program) => run(await onEtcd(t, program), t))
}

async function send(server: Target, method: string, path: string, body?: object): Promise<any> {
  const { status, json, text } = await ask(server, path, {
    method,
    ...(body && { body }),
    ...(method === 'PATCH' && { headers: { 'content-type': 'application/merge-patch+json' } }),
  })
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`)
  return json
}
const passwordOf = ({ data }: any) => Buffer.from(data.password, 'base64').toString()

test('Secrets of a data folder are encrypted with the key of its folder pki, which a copy of the store lacks', patient, async t => {
  const { dataDir, serve, stored } = embedded(t)
  const server = await serve()
  await send(server, 'POST', SECRETS, secret('a'))
  await send(server, 'POST', SECRETS, { ...secret('held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } })
  await send(server, 'POST', CONFIG_MAPS, configMap('a'))
  await server.close()
  const file = folderKeyFile(dataDir)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const [, name] = /name: (local-[0-9a-f]{8})/.exec(readFileSync(file, 'utf8'))!
  assert.ok((await stored('a')).startsWith(`k8s:enc:aesgcm:v1:${name}:`))
  const database = readFileSync(join(dataDir, 'store', 'keelson.lmdb'))
  assert.equal(
    database.includes(PASSWORD) || database.includes(Buffer.from(PASSWORD).toString('base64')),
    false,
    'it is nowhere in the file',
  )
  const again = await serve()
  assert.equal(passwordOf(await send(again, 'GET', `${SECRETS}/a`)), PASSWORD)
  await again.close()

  // A copy without the key is served, except for its Secrets.
  const copy = join(temporaryDirectory(t), 'copy')
  cpSync(dataDir, copy, { recursive: true })
  rmSync(folderKeyFile(copy))
  const without = await served(t, { store: 'embedded', dataDir: copy })
  await send(without, 'GET', `${CONFIG_MAPS}/a`)
  const fault = 'data from the storage is not transformable revision=0: no matching key was found for the provided AES transformer'
  const corrupt = (key: string) => `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${fault}`
  const refused = async (method: string, body?: object) => (await ask(without, `${SECRETS}/a`, { method, ...(body && { body }) })).json
  const read = await refused('GET')
  assert.deepEqual(
    [read.code, read.reason, read.message, read.details],
    [
      500,
      'InternalError',
      `Internal error occurred: ${corrupt('/secrets/default/a')}`,
      { causes: [{ message: corrupt('/secrets/default/a') }] },
    ],
  )
  assert.equal((await refused('PUT', secret('a'))).message, `Internal error occurred: ${fault}`)
  assert.equal((await refused('DELETE')).message, `Internal error occurred: ${corrupt('/secrets/default/a')}`)
  assert.equal((await ask(without, SECRETS, { method: 'POST', body: secret('a') })).json.reason, 'AlreadyExists')
  const listed = (await ask(without, SECRETS)).json
  assert.deepEqual(
    [listed.code, listed.reason, listed.message],
    [
      500,
      'StorageReadError',
      `failed to read one or more secrets from the storage: ${corrupt('/registry/secrets/default/a')} (and 1 more)`,
    ],
  )
  assert.deepEqual(
    listed.details.causes.map(({ field }: any) => field),
    ['/registry/secrets/default/a', '/registry/secrets/default/held'],
  )
  const watching = await Watching.open(t, without, `${SECRETS}?watch=true`)
  const event = await watching.next()
  assert.equal(event!.type, 'ERROR')
  assert.equal((event!.object as any).message, `Internal error occurred: ${corrupt('/secrets/default/a')}`)
  // New ones are written with a new key.
  await send(without, 'POST', SECRETS, secret('new'))
  assert.equal(passwordOf(await send(without, 'GET', `${SECRETS}/new`)), PASSWORD)
  // Nothing is lost: with both keys all are read.
  await without.close()
  const [former, own] = [readFileSync(file, 'utf8'), readFileSync(folderKeyFile(copy), 'utf8')]
  const keyIn = (text: string) => /- name: .*\n\s+secret: .*\n/.exec(text)![0]
  writeFileSync(folderKeyFile(copy), own.replace(keyIn(own), `${keyIn(own)}            ${keyIn(former)}`))
  const both = await served(t, { store: 'embedded', dataDir: copy })
  assert.deepEqual(
    (await send(both, 'GET', SECRETS)).items.map((each: any) => [each.metadata.name, passwordOf(each)]),
    ['a', 'held', 'new'].map(name => [name, PASSWORD]),
  )
  await both.close()
  const { transformer, missing, close } = await openFolderEncryption(copy)
  t.after(close)
  assert.equal(missing, undefined)
  const store = await openEmbeddedStore({ dir: join(copy, 'store'), transformer })
  t.after(() => store.close())
  assert.match(Buffer.from((await store.get('/core/secrets/default/a')).entry!.value).toString(), /"name":"a"/)
})

test('snapshots have records as they are stored, and keelson inspect decrypts them with the key', patient, async t => {
  const { dataDir, serve, file } = embedded(t)
  const server = await serve()
  await send(server, 'POST', SECRETS, secret('a'))
  await server.close()
  const snapshot = file('backup', '')
  rmSync(snapshot)
  const saved = await keelsonHere('snapshot', 'save', snapshot, '--data-dir', dataDir)
  assert.equal(saved.code, 0, saved.stderr)
  const bytes = readFileSync(snapshot)
  assert.equal(bytes.includes(PASSWORD) || bytes.includes(Buffer.from(PASSWORD).toString('base64')), false)
  const inspected = async (...flags: string[]) =>
    (await keelsonHere('inspect', '/core/secrets/default/a', '--output', 'json', ...flags)).stdout
  const password = Buffer.from(PASSWORD).toString('base64')
  assert.ok((await inspected('--data-dir', dataDir)).includes(password))
  assert.ok(!(await inspected('--snapshot', snapshot)).includes(password))
  assert.ok((await inspected('--snapshot', snapshot, '--encryption-provider-config', folderKeyFile(dataDir))).includes(password))
  const store = await openEmbeddedStore({ dir: join(dataDir, 'store'), transformer: (await openFolderEncryption(dataDir)).transformer })
  t.after(() => store.close())
  const [[stored], [read]] = [
    (await store.list('/core/secrets/', { asStored: true })).entries,
    (await store.list('/core/secrets/')).entries,
  ]
  assert.match(Buffer.from(stored!.value).toString('latin1'), /^k8s:enc:aesgcm:v1:local-/)
  assert.match(Buffer.from(read!.value).toString(), /^\{/)
})

test('what cannot be decrypted is deleted by force, whatever its finalizers', patient, async t => {
  const { dataDir, serve } = embedded(t)
  const server = await serve()
  await send(server, 'POST', SECRETS, { ...secret('held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } })
  await server.close()
  rmSync(folderKeyFile(dataDir))
  const without = await serve()
  const removed = await ask(without, `${SECRETS}/held`, {
    method: 'DELETE',
    body: { ignoreStoreReadErrorWithClusterBreakingPotential: true },
  })
  assert.deepEqual(removed.json, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: 'held', kind: 'Secret' },
    code: 200,
  })
  assert.deepEqual((await send(without, 'GET', SECRETS)).items, [])
})

test('a folder from before encryption stays readable, and its Secrets are encrypted when they are written', patient, async t => {
  const { dataDir, serve, stored, file } = embedded(t)
  const plain = await serve({ encryptionProviderConfig: file('plain.json', configuration([IDENTITY])) })
  for (const name of ['a', 'b']) await send(plain, 'POST', SECRETS, secret(name))
  await plain.close()
  assert.match(await stored('a'), /^\{/)
  rmSync(folderKeyFile(dataDir), { force: true })
  const server = await serve()
  assert.equal((await send(server, 'GET', SECRETS)).items.length, 2)
  const before = await send(server, 'GET', `${SECRETS}/a`)
  const after = await send(server, 'PUT', `${SECRETS}/a`, before)
  assert.notEqual(after.metadata.resourceVersion, before.metadata.resourceVersion, 'an update without a change is written')
  assert.equal((await send(server, 'PUT', `${SECRETS}/a`, after)).metadata.resourceVersion, after.metadata.resourceVersion, 'but once')
  await server.close()
  assert.match(await stored('a'), /^k8s:enc:aesgcm:v1:local-/)
  assert.match(await stored('b'), /^\{/)
})

test('the key of the folder is read with, whatever is configured later', patient, async t => {
  const { serve, stored, file } = embedded(t)
  const server = await serve()
  await send(server, 'POST', SECRETS, secret('a'))
  await server.close()
  const configured = await serve({ encryptionProviderConfig: file('config.json', configuration([aescbc('one')])) })
  const before = await send(configured, 'GET', `${SECRETS}/a`)
  assert.equal(passwordOf(before), PASSWORD)
  await send(configured, 'PUT', `${SECRETS}/a`, before)
  await configured.close()
  assert.match(await stored('a'), /^k8s:enc:aescbc:v1:one:/)
})

onBothStores('a key is replaced while the server runs, and a migration rewrites all', async ground => {
  const file = ground.file('config.json', configuration([aescbc('one'), IDENTITY]))
  const options = { encryptionProviderConfig: file, encryptionProviderConfigAutomaticReload: true }
  const server = await ground.serve(options)
  for (const name of ['a', 'b', 'c']) await send(server, 'POST', SECRETS, secret(name))
  for (const check of ['kms-providers', 'poststarthook/start-encryption-provider-config-automatic-reload'])
    assert.equal((await ask(server, `/readyz/${check}`)).text, 'ok', 'the check is there without a plugin')
  const metrics = async () => (await ask(server, '/metrics')).text
  const reloads = (status: string) =>
    metrics().then(text =>
      Number(new RegExp(`encryption_config_controller_automatic_reloads_total\\{.*status="${status}"\\} (\\d+)`).exec(text)?.[1] ?? 0),
    )
  const reloaded = (status: string) =>
    eventually(`a ${status}`, async () => {
      await lookAtFiles()
      return (await reloads(status)) > 0 ? true : undefined
    })
  // A file that cannot be used changes nothing.
  writeFileSync(file, configuration([{}]))
  await reloaded('failure')
  await send(server, 'POST', SECRETS, secret('d'))
  writeFileSync(file, configuration([aescbc('two'), aescbc('one'), IDENTITY]))
  await reloaded('success')
  const before = await send(server, 'GET', `${SECRETS}/a`)
  const after = await send(server, 'PATCH', `${SECRETS}/a`, {})
  assert.notEqual(after.metadata.resourceVersion, before.metadata.resourceVersion)
  await send(server, 'POST', '/apis/storagemigration.k8s.io/v1/storageversionmigrations', {
    metadata: { name: 'secrets' },
    spec: { resource: { group: '', resource: 'secrets' } },
  })
  await eventually('the migration', async () => {
    const { status } = await send(server, 'GET', '/apis/storagemigration.k8s.io/v1/storageversionmigrations/secrets')
    return status?.conditions?.some(({ type, status }: any) => type === 'Succeeded' && status === 'True') ? true : undefined
  })
  const text = await metrics()
  assert.match(
    text,
    /apiserver_storage_transformation_operations_total\{resource="secrets",status="OK",transformation_type="to_storage",transformer_prefix="k8s:enc:aescbc:v1:"\}/,
  )
  assert.match(
    text,
    /apiserver_storage_transformation_duration_seconds_count\{transformation_type="to_storage",transformer_prefix="two:"\}/,
  )
  assert.match(text, /apiserver_encryption_config_controller_last_config_info\{/)
  await server.close()
  for (const name of ['a', 'b', 'c', 'd']) assert.match(await ground.stored(name), /^k8s:enc:aescbc:v1:two:/, name)
  // The former key is no longer needed.
  const last = await ground.serve({ encryptionProviderConfig: ground.file('last.json', configuration([aescbc('two')])) })
  assert.equal((await send(last, 'GET', SECRETS)).items.length, 4)
})

onBothStores('a key that comes with a reload makes Secrets readable, and watches begin again', async ground => {
  const server = await ground.serve({ encryptionProviderConfig: ground.file('one.json', configuration([aescbc('one')])) })
  await send(server, 'POST', SECRETS, secret('a'))
  await server.close()
  const file = ground.file('two.json', configuration([aescbc('two'), IDENTITY]))
  const without = await ground.serve({ encryptionProviderConfig: file, encryptionProviderConfigAutomaticReload: true })
  assert.match((await ask(without, `${SECRETS}/a`)).json.message, /not transformable revision=0: no matching key was found/)
  writeFileSync(file, configuration([aescbc('two', 'one'), IDENTITY]))
  await lookAtFiles()
  await eventually('the Secret', async () => ((await ask(without, `${SECRETS}/a`)).status === 200 ? true : undefined))
  assert.equal((await send(without, 'GET', SECRETS)).items.length, 1)
})

const QUICK: KmsTimes = { ...KMS_TIMES, healthyMs: 50, unhealthyMs: 50, goodForMs: 0, badForMs: 0 }
const kms = (plugin: string) => ({ kms: { apiVersion: 'v2', name: 'vault', endpoint: `unix://${plugin}`, timeout: '500ms' } })

onBothStores('Secrets are encrypted with seeds of a KMS plugin, which may start later, fail and change its key', async (ground, t) => {
  const socket = join(temporaryDirectory(t), 'kms.sock')
  let plugin = await KmsPlugin.start(socket)
  t.after(() => plugin.stop())
  const options = { encryptionProviderConfig: ground.file('kms.json', configuration([kms(socket), IDENTITY])) }
  const server = await ground.serve(options, QUICK)
  await send(server, 'POST', SECRETS, secret('a'))
  assert.equal((await ask(server, '/readyz/kms-providers')).text, 'ok')
  assert.equal((await ask(server, '/livez/kms-providers')).status, 404)
  // A failing plugin is reported; Secrets are read and, for three minutes, written.
  plugin.isFailing = true
  const failing = await eventually('the failure', async () => {
    const { status, text } = await ask(server, '/healthz/kms-providers')
    return status === 500 ? text : undefined
  })
  assert.match(
    failing,
    /^internal server error: kms-provider-0: .*rpc error: code = FailedPrecondition desc = failed precondition - key disabled\n$/,
  )
  assert.match((await ask(server, '/readyz')).text, /\[-\]kms-providers failed: reason withheld/)
  await send(server, 'POST', SECRETS, secret('b'))
  plugin.isFailing = false
  await eventually('its health', async () => ((await ask(server, '/readyz')).status === 200 ? true : undefined))
  // With another key id records are stale.
  const [before, encrypts] = [await send(server, 'GET', `${SECRETS}/a`), plugin.calls.Encrypt]
  plugin.keyId = '2'
  await eventually('another seed', async () => (plugin.calls.Encrypt > encrypts ? true : undefined))
  const after = await eventually('a record with it', async () => {
    const written = await send(server, 'PUT', `${SECRETS}/a`, before)
    return written.metadata.resourceVersion === before.metadata.resourceVersion ? undefined : written
  })
  assert.equal(passwordOf(after), PASSWORD)
  const metrics = (await ask(server, '/metrics')).text
  for (const name of [
    'key_id_hash_total',
    'key_id_hash_status_last_timestamp_seconds',
    'kms_operations_latency_seconds_count',
    'dek_source_cache_size',
  ])
    assert.match(metrics, new RegExp(`^apiserver_envelope_encryption_${name}\\{.*provider_name="vault"`, 'm'), name)
  await server.close()
  assert.match(await ground.stored('a'), /^k8s:enc:kms:v2:vault:/)
  await plugin.stop()

  // A server whose plugin is not there yet starts, and serves the Secrets when it is.
  const early = await ground.serve(options, QUICK)
  await send(early, 'GET', CONFIG_MAPS)
  assert.equal((await ask(early, '/readyz')).status, 500)
  assert.match((await ask(early, `${SECRETS}/a`)).json.message, /not transformable revision=0: got unexpected nil transformer$/)
  assert.equal(
    (await ask(early, SECRETS, { method: 'POST', body: secret('c') })).json.message,
    'Internal error occurred: got unexpected nil transformer',
  )
  plugin = await KmsPlugin.start(socket)
  plugin.keyId = '2'
  await eventually('the Secrets', async () => ((await ask(early, SECRETS)).status === 200 ? true : undefined))
  assert.deepEqual((await send(early, 'GET', SECRETS)).items.map(passwordOf), [PASSWORD, PASSWORD])
  await eventually('readiness', async () => ((await ask(early, '/readyz')).status === 200 ? true : undefined))
  await send(early, 'POST', SECRETS, secret('c'))
})

onBothStores('KMS v1 is refused unless its gate is on, and then each record carries its key', async (ground, t) => {
  const socket = join(temporaryDirectory(t), 'kms.sock')
  const plugin = await KmsPlugin.start(socket)
  t.after(() => plugin.stop())
  const { kms: second } = kms(socket)
  const options = {
    encryptionProviderConfig: ground.file('kms1.json', configuration([{ kms: { ...second, apiVersion: 'v1' } }, IDENTITY])),
  }
  await assert.rejects(ground.serve(options), {
    message:
      'error while building transformers: KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.',
  })
  const gated = { ...options, featureGates: 'KMSv1=true' }
  const server = await ground.serve(gated, QUICK)
  await send(server, 'POST', SECRETS, secret('a'))
  assert.equal((await ask(server, '/readyz/kms-providers')).text, 'ok')
  await server.close()
  assert.match(await ground.stored('a'), /^k8s:enc:kms:v1:vault:/)
  const again = await ground.serve(gated, QUICK)
  assert.equal(passwordOf(await send(again, 'GET', `${SECRETS}/a`)), PASSWORD)
})

onBothStores('a server starts on a store in which all resources are encrypted', async ground => {
  const options = { encryptionProviderConfig: ground.file('all.json', configuration([aescbc('one'), IDENTITY], ['*.*'])) }
  const server = await ground.serve(options)
  await send(server, 'POST', CONFIG_MAPS, configMap('a'))
  await server.close()
  const again = await ground.serve(options)
  await send(again, 'GET', `${CONFIG_MAPS}/a`)
  assert.equal((await ask(again, '/readyz')).status, 200)
})

test('a configuration that cannot be used is refused at the start', patient, async t => {
  const { serve, file } = embedded(t)
  await assert.rejects(serve({ encryptionProviderConfig: file('bad.json', configuration([{ kms: { name: 'a' } }])) }), {
    message: 'error while parsing file: resources[0].providers[0].kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms',
  })
  await assert.rejects(serve({ encryptionProviderConfig: '/nowhere' }), {
    message:
      'error while parsing file: error while loading file: error reading encryption provider configuration file "/nowhere": open /nowhere: no such file or directory',
  })
  await assert.rejects(serve({ encryptionProviderConfigAutomaticReload: true }), {
    message: '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
  })
})

testWith('etcd', 'keelson migrate decrypts with the key of the folder, and says when it is missing', patient, async (t, program) => {
  const cluster = await startEtcd({ program })
  t.after(() => cluster[Symbol.asyncDispose]())
  const { dataDir, serve, file } = embedded(t)
  const server = await serve()
  await send(server, 'POST', SECRETS, secret('a'))
  await server.close()
  const key = readFileSync(folderKeyFile(dataDir), 'utf8')
  rmSync(folderKeyFile(dataDir))
  const config = file('etcd.json', configuration([aescbc('one'), IDENTITY]))
  const args = [
    'migrate',
    '--from',
    `embedded:${dataDir}`,
    '--to',
    `etcd:${cluster.endpoints.join(',')}`,
    '--encryption-provider-config',
    config,
  ]
  const refused = await keelsonHere(...args)
  assert.equal(refused.code === 0, false)
  assert.match(refused.stderr, /\/core\/secrets\/default\/a .*cannot be read: .*there is no key in .*encryption-config\.yaml/)
  writeFileSync(folderKeyFile(dataDir), key, { mode: 0o600 })
  const moved = await keelsonHere(...args)
  assert.equal(moved.code, 0, moved.stderr)
  const there = await served(t, { store: 'etcd', etcdServers: cluster.endpoints, encryptionProviderConfig: config })
  assert.equal(passwordOf(await send(there, 'GET', `${SECRETS}/a`)), PASSWORD)
  await there.close()
  const plain = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/registry', format: plainFormat })
  assert.match(await rawBytes(plain, '/secrets/default/a'), /^k8s:enc:aescbc:v1:one:/)
})
