import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from '../kinds/apps/deployment.ts'
import { Pod } from '../kinds/core/pod.ts'
import { pathsOf, pathText } from '../patch/field-set.ts'
import { defineKind, type Kind } from '../schema/kind.ts'
import { resourceOf } from '../schema/resource.ts'
import { message, string } from '../schema/types.ts'
import { ownedWrite } from './ownership.ts'
import type { Write } from './write.ts'

const Part = message('Part', { a: [1, string, ''], b: [2, string, ''] })
const plain = {
  group: 'x.com',
  version: 'v1',
  kind: 'Thing',
  scope: 'Cluster',
  names: { plural: 'things' },
  spec: Part,
  status: Part,
} as const
const Plain = defineKind({ ...plain, subresources: { status: {}, views: { own: { keepsMetadata: true } } } })
const Special = defineKind({
  ...plain,
  unowned: ['spec', 'status'],
  subresources: { status: { unowned: ['spec', 'status.a'] } },
})

const unowned = (kind: Kind<any>, subresource: string) => {
  const resource = resourceOf(kind, 'k8s.io')
  const write = {
    kind: resource,
    call: { resource, subresource },
    options: { fieldManager: 'm' },
    ctx: { userAgent: 'u', now: new Date(0) },
  }
  const { resetFields } = ownedWrite(write as unknown as Write)
  return pathsOf(resetFields!).map(pathText).sort()
}

test('nobody owns the status through a plain write, nor anything else through that of the status', () => {
  assert.deepEqual(unowned(Plain, ''), ['.status'])
  assert.deepEqual(unowned(Plain, 'status'), ['.spec'])
  assert.deepEqual(unowned(Plain, 'own'), ['.metadata', '.spec', '.status'])
})

test('a kind may say itself what nobody comes to own', () => {
  assert.deepEqual(unowned(Special, ''), ['.spec', '.status'])
  assert.deepEqual(unowned(Special, 'status'), ['.spec', '.status.a'])
})

test('what the status of deployments and pods leaves as it is cannot be owned through it', () => {
  assert.deepEqual(unowned(Deployment, 'status'), ['.metadata.labels', '.spec'])
  assert.deepEqual(unowned(Pod, 'status'), ['.metadata.deletionTimestamp', '.metadata.ownerReferences', '.spec'])
})
