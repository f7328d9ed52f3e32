import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from '../kinds/apps/deployment.ts'
import { Pod } from '../kinds/core/pod/pod.ts'
import { pathsOf, pathText } from '../patch/field-set.ts'
import { defineKind, type Kind } from '../schema/kind.ts'
import { resourceOf } from '../schema/resource.ts'
import { message, string } from '../schema/types.ts'
import { ownedWrite } from './ownership.ts'
import type { Write } from './write-value.ts'

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
const Plain = defineKind({ ...plain, subresources: { status: {}, updates: { own: { keepsMetadata: true } } } })
const Special = defineKind({
  ...plain,
  resetFields: ['spec', 'status'],
  subresources: { status: { resetFields: ['spec', 'status.a'] } },
})

const resetFields = (kind: Kind<any>, subresource: string) => {
  const resource = resourceOf(kind, 'k8s.io')
  const write = {
    kind: resource,
    call: { resource, subresource },
    options: { fieldManager: 'm' },
    ctx: { userAgent: 'u' },
    time: '',
  }
  const owned = ownedWrite(write as unknown as Write)
  return pathsOf(owned.resetFields!).map(pathText).sort()
}

test('a plain write does not own the status, and a status write owns nothing else', () => {
  assert.deepEqual(resetFields(Plain, ''), ['.status'])
  assert.deepEqual(resetFields(Plain, 'status'), ['.spec'])
  assert.deepEqual(resetFields(Plain, 'own'), ['.metadata', '.spec', '.status'])
})

test('a kind may declare the fields that writes do not own', () => {
  assert.deepEqual(resetFields(Special, ''), ['.spec', '.status'])
  assert.deepEqual(resetFields(Special, 'status'), ['.spec', '.status.a'])
})

test('what the status of deployments and pods leaves as it is cannot be owned through it', () => {
  assert.deepEqual(resetFields(Deployment, 'status'), ['.metadata.labels', '.spec'])
  assert.deepEqual(resetFields(Pod, 'status'), ['.metadata.deletionTimestamp', '.metadata.ownerReferences', '.spec'])
})
