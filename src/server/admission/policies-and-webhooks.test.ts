import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyObject } from '../../schema/object-meta.ts'
import { perGeneration } from './policies-and-webhooks.ts'

test('what is expensive is made again for another specification or another object, and not for another status', () => {
  const made: string[] = []
  const compile = perGeneration(({ metadata }: AnyObject) => made.push(`${metadata.name} ${metadata.uid} ${metadata.generation}`))
  const stored = (name: string, uid: string, generation: number, resourceVersion: string) =>
    ({ metadata: { name, uid, generation, resourceVersion } }) as AnyObject
  compile(stored('a', 'u1', 1, '1'))
  compile(stored('b', 'u2', 1, '2'))
  compile(stored('a', 'u1', 1, '3'))
  compile(stored('a', 'u1', 2, '4'))
  compile(stored('a', 'u3', 1, '5'))
  compile(stored('b', 'u2', 1, '6'))
  assert.deepEqual(made, ['a u1 1', 'b u2 1', 'a u1 2', 'a u3 1'])
})
