import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Attachment, attachmentName, blockedMessage, isAttachmentName, planFor } from './reconcile.ts'

const volume = (name: string, accessModes = ['ReadWriteOnce']) =>
  ({ metadata: { name }, spec: { accessModes, csi: { driver: 'd', volumeHandle: name } }, status: {} }) as never
const attachment = (persistentVolumeName: string, nodeName: string, more: object = {}): Attachment => ({
  metadata: { name: `${persistentVolumeName}-${nodeName}`, ...more },
  spec: { nodeName, source: { persistentVolumeName } },
  status: { attached: true },
})
const plan = (needed: string[], attachments: Attachment[], { inUse = [], modes }: { inUse?: string[]; modes?: string[] } = {}) => {
  const { attach, blocked, detach, attached } = planFor({
    name: 'here',
    needed: needed.map(name => ({ volume: volume(name, modes), pods: ['ns/p'] })),
    attachments,
    volume: name => volume(name),
    inUse,
  })
  return {
    attach: attach.map(({ metadata }) => metadata.name),
    blocked: blocked.map(({ by }) => by),
    detach: detach.map(({ metadata }) => metadata.name),
    attached,
  }
}
const NOTHING = { attach: [], blocked: [], detach: [], attached: [] }

test('what pods use is attached, what they do not is detached, and one node has what only one can have', () => {
  assert.deepEqual(plan(['a'], []), { ...NOTHING, attach: ['a'] })
  assert.deepEqual(plan(['a'], [attachment('a', 'here')]), { ...NOTHING, attached: ['kubernetes.io/csi/d^a'] })
  assert.deepEqual(plan([], [attachment('a', 'here')]), { ...NOTHING, detach: ['a-here'] })
  assert.deepEqual(plan([], [attachment('a', 'here', { deletionTimestamp: 'x' })]), NOTHING)
  assert.deepEqual(plan(['a'], [attachment('a', 'there')]), { ...NOTHING, blocked: ['there'] })
  assert.deepEqual(plan(['a'], [attachment('a', 'there')], { modes: ['ReadWriteMany'] }), { ...NOTHING, attach: ['a'] })
  const inUse = ['kubernetes.io/csi/d^a']
  assert.deepEqual(plan([], [attachment('a', 'here')], { inUse }), { ...NOTHING, attached: inUse }, 'it is still mounted')
})

test('an attachment has the name that it has in Kubernetes', () => {
  assert.match(attachmentName('h', 'd', 'n'), /^csi-[0-9a-f]{64}$/)
  assert.equal(isAttachmentName(attachmentName('h', 'd', 'n')), true)
  assert.equal(isAttachmentName('va-e2e'), false)
})

test('a pod whose volume is attached to another node gets a message that names the pods using it', () => {
  const start = 'Multi-Attach error for volume "v" Volume is already'
  assert.equal(blockedMessage('v', 'ns', []), `${start} exclusively attached to one node and can't be attached to another`)
  assert.equal(blockedMessage('v', 'ns', ['ns/a', 'ns/b']), `${start} used by pod(s) a, b`)
  assert.equal(blockedMessage('v', 'ns', ['x/a']), `${start} used by 1 pod(s) in different namespaces`)
  assert.equal(blockedMessage('v', 'ns', ['ns/a', 'x/b']), `${start} used by pod(s) a and 1 pod(s) in different namespaces`)
})

test('a plan that is carried out leaves nothing to do, and no volume for one node on two', () => {
  const names = fc.subarray(['a', 'b', 'c', 'd'])
  fc.assert(
    fc.property(names, names, names, (needed, here, there) => {
      const elsewhere = there.filter(name => !here.includes(name)).map(name => attachment(name, 'there'))
      const before = [...here.map(name => attachment(name, 'here')), ...elsewhere]
      const first = plan(needed, before)
      for (const name of first.attach) assert.ok(!there.includes(name!) || here.includes(name!))
      const after = [
        ...before.filter(({ metadata }) => !first.detach.includes(metadata.name)),
        ...first.attach.map(name => attachment(name!, 'here')),
      ]
      const second = plan(needed, after)
      assert.deepEqual([second.attach, second.detach], [[], []])
    }),
  )
})
