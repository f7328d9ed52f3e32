// Objects are written again in the version that is stored today, by a real server over HTTPS, and also by one that is killed meanwhile.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import {
  ask,
  CONFIG_MAPS,
  configMap,
  connection,
  eventually,
  freshServer,
  patient,
  run,
  serveHere,
  startInProcess,
  startProcess,
  type Target,
  temporaryDirectory,
} from './kit.ts'
import { webhook } from './kits/webhooks.ts'
import { testWith } from './programs.ts'

const GROUP = 'stable.example.com'
const DEFINITION = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${GROUP}`
const MIGRATIONS = '/apis/storagemigration.k8s.io/v1/storageversionmigrations'
const widgets = (version: string, name = '') => `/apis/${GROUP}/${version}/namespaces/default/widgets${name && `/${name}`}`

const schema = (field: string) => ({
  openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { [field]: { type: 'string' } } } } },
})
const definition = (storage: 'v1' | 'v2', conversion?: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      { name: 'v1', served: true, storage: storage === 'v1', schema: schema('color') },
      { name: 'v2', served: true, storage: storage === 'v2', schema: schema(conversion ? 'paint' : 'color') },
    ],
    ...(conversion && { conversion }),
  },
})
const widget = (name: string, version = 'v1') => ({
  apiVersion: `${GROUP}/${version}`,
  kind: 'Widget',
  metadata: { name },
  spec: version === 'v1' ? { color: name } : { paint: name },
})
const migrationOf = (name: string, resource: string, group = '') => ({
  apiVersion: 'storagemigration.k8s.io/v1',
  kind: 'StorageVersionMigration',
  metadata: { name },
  spec: { resource: { group, resource } },
})

async function send(server: Target, method: string, path: string, body?: object, type = 'application/json'): Promise<any> {
  const { status, json, text } = await ask(server, path, { method, ...(body && { body }), headers: { 'content-type': type } })
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`)
  return json
}
const patch = (server: Target, path: string, body: object) => send(server, 'PATCH', path, body, 'application/merge-patch+json')

/** A webhook that renames the field color of v1 to paint in v2. */
const painting = (t: Parameters<typeof webhook>[0]) =>
  webhook(t, ({ apiVersion, kind, request }, response) => {
    const convertedObjects = request.objects.map((object: any) => {
      const { color, paint = color } = object.spec ?? {}
      const spec = request.desiredAPIVersion.endsWith('/v1') ? { color: paint } : { paint }
      return { ...object, apiVersion: request.desiredAPIVersion, spec }
    })
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, result: { status: 'Success' }, convertedObjects } }))
  })

async function store(server: Target, storage: 'v1' | 'v2'): Promise<void> {
  const { spec } = await send(server, 'GET', DEFINITION)
  const versions = spec.versions.map((version: any) => ({ ...version, storage: version.name === storage }))
  await patch(server, DEFINITION, { spec: { versions } })
}

const condition = (object: any, type: string) => object.status?.conditions?.find((each: any) => each.type === type)
const ended = (server: Target, name: string) =>
  eventually(`the end of ${name}`, async () => {
    const migration = (await ask(server, `${MIGRATIONS}/${name}`)).json
    return condition(migration, 'Running')?.status === 'False' ? migration : undefined
  })

test('objects of a definition are converted by its webhook and stored in the new version, and the old one can go', patient, async t => {
  const hook = await painting(t)
  const server = await startInProcess(t, { store: 'memory', port: 0 })
  const conversion = { strategy: 'Webhook', webhook: { clientConfig: hook.clientConfig, conversionReviewVersions: ['v1'] } }
  await send(server, 'POST', DEFINITION.slice(0, DEFINITION.lastIndexOf('/')), definition('v1', conversion))
  await eventually('the kind', async () => ((await ask(server, widgets('v1'))).status === 200 ? true : undefined))
  for (let i = 0; i < 30; i++) await send(server, 'POST', widgets('v1'), widget(`w${i}`))
  const before = await send(server, 'GET', widgets('v1', 'w0'))
  await store(server, 'v2')
  assert.deepEqual((await send(server, 'GET', DEFINITION)).status.storedVersions, ['v1', 'v2'])
  // The old version cannot be dropped while objects may be stored in it.
  const { spec } = await send(server, 'GET', DEFINITION)
  const only = { spec: { versions: spec.versions.filter(({ name }: any) => name === 'v2') } }
  const refused = await ask(server, DEFINITION, {
    method: 'PATCH',
    body: only,
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  assert.equal(refused.status, 422)
  assert.match(refused.json.message, /must remain in spec\.versions until a storage migration ensures no data remains persisted in v1/)

  const created = await send(server, 'POST', MIGRATIONS, migrationOf('widgets', 'widgets', GROUP))
  const migration = await ended(server, 'widgets')
  assert.equal(condition(migration, 'Succeeded').status, 'True')
  assert.equal(condition(migration, 'Succeeded').reason, 'StorageVersionMigrationSucceeded')
  assert.equal(condition(migration, 'Running').reason, 'MigrationCompleted')
  const since = BigInt(migration.status.resourceVersion)
  assert.ok(since >= BigInt(created.metadata.resourceVersion), 'the resource version is that of when the migration was first seen')
  for (const { metadata } of (await send(server, 'GET', widgets('v2'))).items)
    assert.ok(BigInt(metadata.resourceVersion) > since, `${metadata.name} was not written`)
  const after = await send(server, 'GET', widgets('v1', 'w0'))
  assert.deepEqual([after.spec, after.metadata.uid], [before.spec, before.metadata.uid])
  const told = await send(server, 'GET', DEFINITION)
  assert.deepEqual(told.status.storedVersions, ['v2'])
  const migrating = condition(told, 'StorageMigrating')
  assert.deepEqual([migrating.status, migrating.reason], ['False', 'MigrationSucceeded'])
  assert.equal(migrating.message, 'The migration has succeeded and the stored versions have been updated')

  // Nothing needs the webhook or the old version any more.
  hook.server.close()
  hook.server.closeAllConnections()
  await patch(server, DEFINITION, { spec: { ...only.spec, conversion: { strategy: 'None', webhook: null } } })
  await eventually('the end of v1', async () => ((await ask(server, widgets('v1'))).status === 404 ? true : undefined))
  const items = (await send(server, 'GET', widgets('v2'))).items
  assert.deepEqual(items.map(({ spec }: any) => spec.paint).sort(), Array.from({ length: 30 }, (_, i) => `w${i}`).sort())
})

test('migrations of one resource run one after another, and those that are impossible fail', patient, async t => {
  const server = await freshServer(t)
  await send(server, 'POST', CONFIG_MAPS, configMap('a'))
  for (const name of ['first', 'second']) await send(server, 'POST', MIGRATIONS, migrationOf(name, 'configmaps'))
  await send(server, 'POST', MIGRATIONS, migrationOf('reviews', 'tokenreviews', 'authentication.k8s.io'))
  const [first, second] = [await ended(server, 'first'), await ended(server, 'second')]
  assert.ok(BigInt(second.status.resourceVersion) > BigInt(first.status.resourceVersion))
  const reviews = await ended(server, 'reviews')
  assert.equal(condition(reviews, 'Failed').reason, 'StorageVersionMigrationFailed')
  assert.equal(
    condition(reviews, 'Failed').message,
    'resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery operations: [update patch list]',
  )
  assert.equal(condition(reviews, 'Succeeded'), undefined)
})

test('the write of a controller to an object that is stored in an older version keeps all its fields', patient, async t => {
  const hook = await painting(t)
  const server = await freshServer(t)
  const conversion = { strategy: 'Webhook', webhook: { clientConfig: hook.clientConfig, conversionReviewVersions: ['v1'] } }
  await send(server, 'POST', DEFINITION.slice(0, DEFINITION.lastIndexOf('/')), definition('v1', conversion))
  await eventually('the kind', async () => ((await ask(server, widgets('v1'))).status === 200 ? true : undefined))
  const owner = await send(server, 'POST', CONFIG_MAPS, configMap('owner'))
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid }]
  await send(server, 'POST', widgets('v1'), { ...widget('w'), metadata: { name: 'w', ownerReferences } })
  await store(server, 'v2')
  await ask(server, `${CONFIG_MAPS}/owner?propagationPolicy=Orphan`, { method: 'DELETE' })
  const orphan = await eventually('its release', async () => {
    const { json } = await ask(server, widgets('v1', 'w'))
    return json.metadata?.ownerReferences === undefined && json.kind === 'Widget' ? json : undefined
  })
  assert.deepEqual(orphan.spec, { color: 'w' })
})

test('an object that cannot be written ends the migration, and the old version stays', patient, async t => {
  const server = await freshServer(t)
  await send(server, 'POST', DEFINITION.slice(0, DEFINITION.lastIndexOf('/')), definition('v1'))
  await eventually('the kind', async () => ((await ask(server, widgets('v1'))).status === 200 ? true : undefined))
  for (const name of ['good', 'bad']) await send(server, 'POST', widgets('v1'), widget(name))
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'no-bad' },
    spec: {
      matchConstraints: { resourceRules: [{ apiGroups: [GROUP], apiVersions: ['*'], operations: ['UPDATE'], resources: ['widgets'] }] },
      validations: [{ expression: "object.metadata.name != 'bad'", message: 'not this one' }],
    },
  }
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic'
  await send(server, 'POST', `${policies}ies`, policy)
  await send(server, 'POST', `${policies}ybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'no-bad' },
    spec: { policyName: 'no-bad', validationActions: ['Deny'] },
  })
  await eventually('the policy', async () => {
    const body = { metadata: { labels: { a: 'b' } } }
    const { status } = await ask(server, `${widgets('v1', 'bad')}?dryRun=All`, {
      method: 'PATCH',
      body,
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    return status === 422 || status === 403 ? true : undefined
  })
  await store(server, 'v2')
  await send(server, 'POST', MIGRATIONS, migrationOf('widgets', 'widgets', GROUP))
  const migration = await ended(server, 'widgets')
  assert.match(condition(migration, 'Failed').message, /^[12]\/2 not yet migrated\. migration encountered unhandled error: .*not this one/)
  const told = await send(server, 'GET', DEFINITION)
  assert.deepEqual(told.status.storedVersions, ['v1', 'v2'])
  assert.equal(condition(told, 'StorageMigrating').reason, 'MigrationFailed')
})

const OBJECTS = 3000

test('kill -9 during a migration loses nothing, and it goes on to its end', { timeout: 300_000 }, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  let server = await startProcess(t, { dataDir })
  await send(server, 'POST', DEFINITION.slice(0, DEFINITION.lastIndexOf('/')), definition('v1'))
  await eventually('the kind', async () => ((await ask(server, widgets('v1'))).status === 200 ? true : undefined))
  const agents = Array.from({ length: 8 }, () => connection(t))
  const written = server
  await Promise.all(
    agents.map(async (agent, k) => {
      for (let i = k; i < OBJECTS; i += agents.length) {
        const { status, text } = await ask(written, widgets('v1'), { method: 'POST', body: widget(`w${i}`), agent })
        assert.equal(status, 201, text)
      }
    }),
  )
  await store(server, 'v2')
  await send(server, 'POST', MIGRATIONS, migrationOf('widgets', 'widgets', GROUP))
  let kills = 0
  /** Kills it once some objects are written, as long as some are left. */
  for (let left = OBJECTS; left > 0; ) {
    const running = server
    const seen = await eventually('progress', async () => {
      const migration = (await ask(running, `${MIGRATIONS}/widgets`)).json
      if (condition(migration, 'Succeeded')?.status === 'True') return 0
      const count = /, (\d+)\/\d+ objects not yet migrated/.exec(condition(migration, 'Running')?.message ?? '')?.[1]
      return count !== undefined && Number(count) < left ? Number(count) : undefined
    })
    left = seen
    if (left === 0) break
    kills++
    await server.stop('SIGKILL')
    server = await startProcess(t, { dataDir })
    if (kills === 3) break
  }
  const migration = await ended(server, 'widgets')
  assert.equal(condition(migration, 'Succeeded').status, 'True')
  assert.ok(kills > 0)
  assert.deepEqual((await send(server, 'GET', DEFINITION)).status.storedVersions, ['v2'])
  const { items } = await send(server, 'GET', widgets('v2'))
  assert.equal(items.length, OBJECTS)
  const since = BigInt(migration.status.resourceVersion)
  for (const { metadata, spec } of items) {
    assert.equal(spec.color, metadata.name)
    assert.ok(BigInt(metadata.resourceVersion) > since, `${metadata.name} was not written`)
  }
  t.diagnostic(`${kills} kills during a migration of ${OBJECTS} objects`)
})

testWith('kubectl', 'kubectl shows how far a migration is', patient, async (t, kubectl) => {
  const server = await serveHere(t)
  await send(server, 'POST', CONFIG_MAPS, configMap('a'))
  const at = ['--kubeconfig', server.kubeconfig]
  const applied = await run(kubectl, [...at, 'apply', '-f', '-'], { input: JSON.stringify(migrationOf('maps', 'configmaps')) })
  assert.equal(applied.code, 0, applied.stderr)
  const waited = await run(kubectl, [...at, 'wait', '--for=condition=Succeeded', 'storageversionmigration/maps', '--timeout=60s'])
  assert.equal(waited.code, 0, waited.stderr)
  await ended(server, 'maps')
  const { stdout } = await run(kubectl, [...at, 'get', 'storageversionmigrations'])
  assert.match(stdout, /^NAME +RESOURCE +STATUS\nmaps +configmaps +Succeeded/)
})
