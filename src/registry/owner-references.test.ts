import assert from 'node:assert/strict'
import test from 'node:test'
import { removeDuplicateOwners } from './owner-references.ts'

const owner = (name: string, uid: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'Owner', name, uid, ...more })
const owned = (...ownerReferences: ReturnType<typeof owner>[]) => ({ apiVersion: 'v1', kind: 'Thing', metadata: { ownerReferences } })

test('of equal references one is left, in the order in which they were sent', () => {
  const object = owned(owner('a', '1'), owner('b', '2'), owner('a', '1'), owner('c', '3'), owner('b', '2'))
  const [warning, ...others] = removeDuplicateOwners(object)
  assert.deepEqual(
    object.metadata.ownerReferences.map(({ name }) => name),
    ['a', 'b', 'c'],
  )
  assert.match(warning!, /duplicate UID\(s\) observed: 1, 2$/)
  assert.deepEqual(others, [])
})

test('references that differ in any field are all left', () => {
  const different = [
    owner('a', '1'),
    owner('b', '1'),
    owner('a', '2'),
    owner('a', '1', { kind: 'Other' }),
    owner('a', '1', { apiVersion: 'v2' }),
    owner('a', '1', { controller: true }),
    owner('a', '1', { controller: false }),
    owner('a', '1', { blockOwnerDeletion: true }),
  ]
  const object = owned(...different)
  assert.deepEqual(removeDuplicateOwners(object), [])
  assert.deepEqual(object.metadata.ownerReferences, different)
})
