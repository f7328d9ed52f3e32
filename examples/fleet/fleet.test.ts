// The fleet, tested as it would run: the kinds and roles from fleet.yaml, the controller and the devices with their own rights.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RunningServer, start } from 'keelson'
import { connect, informer } from 'keelson/controller'
import { DEVICES, type Device, ROLLOUTS, type Rollout, runController } from './controller.ts'

const groupDomain = 'platform.example'
const device = (name: string, group = 'shop') => ({ ...DEVICES, metadata: { name }, spec: { group, firmware: '1.0.0' } })
const rollout = (name: string, spec: object) => ({ ...ROLLOUTS, metadata: { name }, spec: { group: 'shop', firmware: '2.0.0', ...spec } })

const end = new AbortController()
const running: Promise<void>[] = []
let server: RunningServer

before(async () => {
  server = await start({ api: 'minimal', groupDomain, apply: ['fleet.yaml'] })
  const api = connect(server.as('fleet-controller').fetch, { groupDomain })
  // Two of them: one leads, the other waits.
  for (let i = 0; i < 2; i++) running.push(runController(api, { signal: end.signal, onError: console.error }))
  runDevices()
})
after(async () => {
  end.abort()
  await Promise.all(running)
  await server.close()
})

/** The devices: each installs the firmware that it is given, and reports it. */
function runDevices(): void {
  const api = connect(server.as('shelf', ['devices']).fetch, { groupDomain })
  const devices = api.of<Device>(DEVICES)
  informer(devices, { signal: end.signal, onError: console.error }).onChange(({ type, object: { metadata, spec, status } }) => {
    if (type === 'deleted' || spec.firmware === status?.firmware) return
    void devices.patch(metadata, { status: { firmware: spec.firmware } }, { subresource: 'status' }).catch(console.error)
  })
}

const patient = { timeoutMs: 60_000 }
const isRunning = (firmware: string) => (found: Device) => found.status?.firmware === firmware

test('a rollout updates the devices of its group, two at a time at most', async () => {
  const names = Array.from({ length: 6 }, (_, i) => `shelf-${i}`)
  for (const name of names) await server.create(device(name))
  await server.create(device('other', 'lab'))
  for (const name of names) await server.waitFor(`device/${name}`, isRunning('1.0.0'), patient)

  await server.create(rollout('spring', { atOnce: 2 }))
  const done: Rollout = await server.waitFor('rollout/spring', (found: Rollout) => found.status?.phase === 'Done', patient)
  assert.deepEqual(done.status, { phase: 'Done', updated: 6, total: 6 })
  for (const name of names) assert.equal((await server.get<Device>(`device/${name}`)).spec.firmware, '2.0.0')
  assert.equal((await server.get<Device>('device/other')).spec.firmware, '1.0.0')
  assert.ok(mostAtOnce() <= 2, `${mostAtOnce()} at once`)

  const reasons = new Set<string>()
  for await (const { object } of server.watch('events')) if (reasons.add(object['reason']).has('Done')) break
  assert.deepEqual(reasons, new Set(['Updating', 'Done']))
})

/** The most devices that were updating to 2.0.0 at the same time, by all changes since the start. */
function mostAtOnce(): number {
  const updating = new Set<string>()
  let most = 0
  for (const { kind, object } of server.changes()) {
    if (kind !== 'Device' || object?.spec.firmware !== '2.0.0') continue
    if (object.status?.firmware === '2.0.0') updating.delete(object.metadata.name)
    else updating.add(object.metadata.name)
    most = Math.max(most, updating.size)
  }
  return most
}

test('the rules of the kinds hold', async () => {
  await assert.rejects(server.create(rollout('all', { atOnce: 50 })), /at most ten devices at once, except in the lab/)
  await assert.rejects(server.create(rollout('odd', { firmware: 'newest' })), /spec\.firmware/)
  await server.create(device('fixed'))
  await assert.rejects(server.patch('device/fixed', { spec: { group: 'lab' } }), /a device stays in its group/)
})

test('the controller and the devices have the rights they need, and no others', async () => {
  await server.create(device('owned'))
  await assert.rejects(server.as('fleet-controller').delete('device/owned'), /fleet-controller" cannot delete/)
  await assert.rejects(server.as('shelf', ['devices']).patch('device/owned', { spec: { firmware: '9.9.9' } }), /cannot patch/)
})
