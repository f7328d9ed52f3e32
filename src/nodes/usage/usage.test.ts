import assert from 'node:assert/strict'
import test from 'node:test'
import { readUses } from './scripted-use.ts'
import { measure, nodeUsage, podUsage } from './usage.ts'

const START = Date.parse('2026-05-01T12:00:00Z')
const pod = (annotations: Record<string, string> = {}, more: object = {}): any => ({
  metadata: { name: 'p', annotations },
  spec: { containers: [{ name: 'web', resources: { requests: { cpu: '200m', memory: '64Mi' } } }, { name: 'bare' }] },
  status: {
    phase: 'Running',
    containerStatuses: ['web', 'bare'].map(name => ({ name, state: { running: { startedAt: '2026-05-01T12:00:00Z' } } })),
  },
  ...more,
})
const used = (annotations: Record<string, string>, afterSeconds = 0) =>
  Object.fromEntries(
    (podUsage(pod(annotations), START + afterSeconds * 1000) ?? []).map(({ name, usage }) => [name, `${usage.cpu} ${usage.memory}`]),
  )

test('without a script a part of the request is used, or a little', () => {
  assert.deepEqual(used({}), { web: '60m 39321Ki', bare: '10m 32Mi' })
})

test('scripts say amounts and percentages, for all containers or one, and from when on', () => {
  const script = { 'sim.keelson.dev/cpu-usage': '100m, 150% after 30s', 'web.sim.keelson.dev/memory-usage': '1Gi' }
  assert.deepEqual(used(script), { web: '100m 1Gi', bare: '100m 32Mi' })
  assert.deepEqual(used(script, 31), { web: '300m 1Gi', bare: '0 32Mi' })
  assert.deepEqual(used({ 'sim.keelson.dev/cpu-usage': 'much' }), used({}))
})

test('only what runs is measured', () => {
  assert.equal(podUsage(pod({}, { status: { phase: 'Pending' } }), START), undefined)
  const ended = {
    phase: 'Running',
    containerStatuses: [
      { name: 'web', state: { terminated: {} } },
      { name: 'bare', state: { running: { startedAt: '2026-05-01T12:00:00Z' } } },
    ],
  }
  assert.deepEqual(
    podUsage(pod({}, { status: ended }), START)?.map(({ name }) => name),
    ['bare'],
  )
  assert.deepEqual(nodeUsage([pod({ 'sim.keelson.dev/cpu-usage': '1', 'sim.keelson.dev/memory-usage': '1Mi' })], START), {
    cpu: '2050m',
    memory: '302Mi',
  })
})

test('what is no script is not read', () => {
  for (const text of ['', ' ', '-1', '1 2', '5% after', '5% after -1s', '1 after 1h,', '101%%'])
    assert.equal(readUses(text), undefined, text)
  assert.deepEqual(readUses('2 after 1m, 10%'), [
    { afterMs: 0, percent: 10 },
    { afterMs: 60_000, milli: 2000n },
  ])
})

test('processor time is what was used at each time, added up', () => {
  const script = { 'sim.keelson.dev/cpu-usage': '100m, 50% after 30s, 2 after 1m' }
  const seconds = (after: number) => measure(pod(script), START + after * 1000)?.map(({ cpuMs }) => cpuMs / 1000)
  assert.deepEqual(seconds(0), [0, 0])
  assert.deepEqual(seconds(20), [2, 2])
  assert.deepEqual(seconds(40), [3 + 1, 3])
  assert.deepEqual(seconds(70), [3 + 3 + 20, 3 + 20])
  assert.deepEqual(
    measure(pod(), START + 10_000)?.map(({ cpuMs }) => cpuMs),
    [600, 100],
  )
})
