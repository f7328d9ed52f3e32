import assert from 'node:assert/strict'
import test from 'node:test'
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { Lookups } from './lookups.ts'
import type { Plugin } from './plugin.ts'
import { profileWith } from './profile.ts'
import { QueueGate } from './queue-gate.ts'
import type { QueuedPod } from './scheduling-queue.ts'

const queued = (uid: string, pods?: readonly QueuedPod[]): QueuedPod =>
  ({ uid, namespace: 'default', name: uid, ...(pods && { pods: new Map(pods.map(each => [each.uid, each])) }) }) as unknown as QueuedPod

/** A gate with one plugin, which holds back the pods of these names. */
function gateHolding(held: readonly string[], { evicting = [] as readonly string[], ofGroup = undefined as string | undefined } = {}) {
  const plugin = { name: 'Held', gate: (pod: Pod) => held.includes(pod.metadata.name!) } as unknown as Plugin
  return new QueueGate({
    profileOf: () => profileWith([plugin]),
    read: ({ name }) => (name === 'gone' ? undefined : ({ metadata: { name } } as Pod)),
    lookups: {} as Lookups,
    preemptor: { isEvicting: uid => evicting.includes(uid) },
    groups: () => ({ gateOf: () => ofGroup }),
  })
}

test('a pod waits for the plugin that holds it back', () => {
  const gate = gateHolding(['a'])
  assert.equal(gate.of(queued('a')), 'Held')
  assert.equal(gate.of(queued('b')), undefined)
  assert.equal(gate.of(queued('gone')), undefined)
})

test('a pod that is making room waits for no plugin', () => {
  const gate = gateHolding([], { evicting: ['a'] })
  assert.equal(gate.of(queued('a')), '')
})

test('a group waits for itself first, then for any of its pods', () => {
  const members = [queued('a'), queued('b')]
  assert.equal(gateHolding(['b'], { ofGroup: 'GangScheduling' }).of(queued('group', members)), 'GangScheduling')
  assert.equal(gateHolding(['b']).of(queued('group', members)), 'Held')
  assert.equal(gateHolding([]).of(queued('group', members)), undefined)
})
