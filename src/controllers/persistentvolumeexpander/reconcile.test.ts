import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expansionOf } from './reconcile.ts'

const claim = (request: string, capacity: string) =>
  ({
    metadata: { uid: 'u' },
    spec: { resources: { requests: { storage: request } } },
    status: { capacity: { storage: capacity } },
  }) as never
const volume = (source: object, annotations = {}) => ({ metadata: { annotations }, spec: { claimRef: { uid: 'u' }, ...source } }) as never

test('a claim that requests more storage gets an event that names the component that expands the volume', () => {
  assert.equal(expansionOf(claim('1Gi', '1Gi'), volume({ csi: {} })), undefined)
  assert.equal(expansionOf(claim('2Gi', '1Gi'), volume({ csi: {}, claimRef: { uid: 'other' } })), undefined)
  assert.equal(
    expansionOf(claim('2Gi', '1Gi'), volume({ csi: {} }))?.notice.message,
    'waiting for an external controller to expand this PVC',
  )
  const migrated = expansionOf(claim('2Gi', '1Gi'), volume({ awsElasticBlockStore: {} }))
  assert.equal(migrated?.resizer, 'ebs.csi.aws.com')
  assert.match(migrated?.notice.message ?? '', /^CSI migration enabled for kubernetes.io\/aws-ebs; waiting/)
})
