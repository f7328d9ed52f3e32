import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { fieldSets, RUNS } from '../../test/kits/patch.ts'
import {
  difference,
  EMPTY_SET,
  equalSets,
  type FieldSet,
  fieldSetOfNames,
  hasPath,
  intersection,
  isEmptySet,
  leaves,
  pathsOf,
  pathText,
  recursiveDifference,
  sharing,
  union,
} from './field-set.ts'

const names = (set: FieldSet) => pathsOf(set).map(pathText)
const same = (a: FieldSet, b: FieldSet) => assert.deepEqual(names(a), names(b))

test('union is associative, commutative and idempotent, and the empty set is its unit', () => {
  fc.assert(
    fc.property(fieldSets, fieldSets, fieldSets, (a, b, c) => {
      same(union(union(a, b), c), union(a, union(b, c)))
      same(union(a, b), union(b, a))
      assert.equal(union(a, a), a)
      assert.equal(union(a, EMPTY_SET), a)
    }),
    RUNS,
  )
})

test('intersection and difference part a set in two', () => {
  fc.assert(
    fc.property(fieldSets, fieldSets, (a, b) => {
      same(union(intersection(a, b), difference(a, b)), a)
      assert.ok(isEmptySet(intersection(intersection(a, b), difference(a, b))))
      same(intersection(a, b), intersection(b, a))
      assert.ok(isEmptySet(difference(a, a)))
    }),
    RUNS,
  )
})

test('membership follows from the operations', () => {
  fc.assert(
    fc.property(fieldSets, fieldSets, (a, b) => {
      for (const path of pathsOf(union(a, b))) {
        const [inA, inB] = [hasPath(a, path), hasPath(b, path)]
        assert.ok(inA || inB)
        assert.equal(hasPath(intersection(a, b), path), inA && inB)
        assert.equal(hasPath(difference(a, b), path), inA && !inB)
        const covered = path.some((_, i) => hasPath(b, path.slice(0, i + 1)))
        assert.equal(hasPath(recursiveDifference(a, b), path), inA && !covered)
      }
    }),
    RUNS,
  )
})

test('operations that change nothing return what they were given', () => {
  fc.assert(
    fc.property(fieldSets, fieldSets, (a, b) => {
      const both = union(a, b)
      assert.equal(union(both, b), both)
      const outside = difference(a, b)
      assert.equal(difference(outside, b), outside)
      assert.equal(union(a, intersection(a, b)), a)
      assert.equal(intersection(a, a), a)
    }),
    RUNS,
  )
})

test('a set made of the parts of another is equal to itself', () => {
  fc.assert(
    fc.property(fieldSets, fieldSets, (a, b) => {
      const next = union(a, b)
      assert.ok(equalSets(sharing(a, next), next))
      const copy = difference(union(a, b), EMPTY_SET)
      assert.ok(equalSets(sharing(copy, next), copy))
    }),
    RUNS,
  )
})

test('leaves are the fields of which no part is in the set', () => {
  same(leaves(fieldSetOfNames('spec', 'spec.replicas', 'metadata.labels')), fieldSetOfNames('spec.replicas', 'metadata.labels'))
})

test('a parent stays when its parts are taken out, and its parts when it is', () => {
  const set = fieldSetOfNames('a', 'a.b')
  assert.deepEqual(names(difference(set, fieldSetOfNames('a.b'))), ['.a'])
  assert.deepEqual(names(difference(set, fieldSetOfNames('a'))), ['.a.b'])
  assert.deepEqual(names(recursiveDifference(set, fieldSetOfNames('a'))), [])
})

test('no one owns a whole object', () => {
  assert.equal(hasPath(fieldSetOfNames('a'), []), false)
})
