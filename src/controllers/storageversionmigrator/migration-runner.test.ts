import assert from 'node:assert/strict'
import test from 'node:test'
import { openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { CustomResourceDefinition } from '../../kinds/apiextensions/customresourcedefinition.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { StorageVersionMigration } from '../../kinds/storagemigration/storageversionmigration.ts'
import { MigrationOrder } from './migration-order.ts'
import { MigrationRunner } from './migration-runner.ts'
import { outdatedObjects } from './outdated-objects.ts'
import { StatusWriter } from './status-writer.ts'

const CONFIG_MAPS = { group: '', resource: 'configmaps' }

async function open(t: Scope) {
  let now = Date.parse('2030-01-01T00:00:00Z')
  const { client, signal } = await openControllerBench(t, [StorageVersionMigration, CustomResourceDefinition, ConfigMap], {
    now: () => new Date(now),
  })
  const [migrations, configMaps] = [client.of(StorageVersionMigration), client.of(ConfigMap)]
  const statuses = new StatusWriter(client)
  const conditions = (name: string) =>
    (migrations.get({ name })?.status.conditions ?? []).map(({ type, status, message }) => `${type}=${status}: ${message}`)
  return {
    ...{ client, migrations, configMaps, statuses, conditions },
    order: new MigrationOrder(client, statuses),
    runner: new MigrationRunner({ client, statuses, signal }),
    pass: (ms: number) => (now += ms),
    addMigration: (name: string, resource: object = CONFIG_MAPS) => migrations.create({ metadata: { name }, spec: { resource } } as never),
    addConfigMap: (name: string) => configMaps.create({ metadata: { namespace: 'default', name } }),
  }
}

test('the older of two migrations of a resource runs first, the other one after its end', async t => {
  const { order, runner, addMigration, addConfigMap, conditions, pass } = await open(t)
  await addConfigMap('a')
  await addMigration('first')
  pass(1000)
  await addMigration('second')
  await order.advance(CONFIG_MAPS)
  assert.deepEqual([conditions('first'), conditions('second')], [['Running=True: The migration is running'], []])
  await runner.advance('second')
  assert.deepEqual(conditions('second'), [])
  // The first call notes the revision to start from.
  await runner.advance('first')
  await runner.advance('first')
  await order.advance(CONFIG_MAPS)
  assert.deepEqual(conditions('first'), ['Running=False: Migration completed', 'Succeeded=True: Migration completed'])
  assert.deepEqual(conditions('second'), ['Running=True: The migration is running'])
})

test('objects that were written after the start are not outdated', async t => {
  const { addConfigMap, configMaps } = await open(t)
  for (const name of ['a', 'b']) await addConfigMap(name)
  const [, since = 0] = Array.from(configMaps.revisions(), ({ revision }) => revision)
  const outdated = () => {
    const { total, left } = outdatedObjects(configMaps as never, since)
    return [total, ...left.map(({ name }) => name)]
  }
  await addConfigMap('c')
  assert.deepEqual(outdated(), [3, 'a', 'b'])
  await configMaps.patch({ namespace: 'default', name: 'a' }, { data: { key: 'value' } })
  assert.deepEqual(outdated(), [3, 'b'])
})

test('a resource may appear within a minute; after that its migration fails', async t => {
  const { order, runner, addMigration, conditions, pass } = await open(t)
  const resource = { group: 'example.com', resource: 'widgets' }
  await addMigration('early', resource)
  await order.advance(resource)
  assert.equal(await runner.advance('early'), 1000)
  pass(60_000)
  assert.equal(await runner.advance('early'), undefined)
  assert.equal(conditions('early').at(-1), 'Failed=True: resource does not exist in discovery')
})

test('a migration that is not running, over or gone is left alone', async t => {
  const { runner, addMigration, conditions, statuses, migrations } = await open(t)
  await addMigration('idle')
  await runner.advance('idle')
  await runner.advance('gone')
  assert.deepEqual(conditions('idle'), [])
  const idle = migrations.get({ name: 'idle' })!
  assert.equal(await statuses.setConditions(idle, []), true)
  assert.equal(migrations.get({ name: 'idle' })!.metadata.resourceVersion, idle.metadata.resourceVersion)
})
