import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { unifiedDiff } from './unified-diff.ts'

const lines = (text: string) => text.split(' ')

test('changes that are near each other are one block, others have their own', () => {
  assert.equal(unifiedDiff(lines('a b c d e f g'), lines('a b c x e f g')), '@@ -1,7 +1,7 @@\n a\n b\n c\n-d\n+x\n e\n f\n g\n')
  const long = Array.from({ length: 20 }, (_, i) => `l${i}`)
  const changed = long.with(2, 'x').with(17, 'y')
  assert.equal(
    unifiedDiff(long, changed),
    '@@ -1,6 +1,6 @@\n l0\n l1\n-l2\n+x\n l3\n l4\n l5\n@@ -15,6 +15,6 @@\n l14\n l15\n l16\n-l17\n+y\n l18\n l19\n',
  )
})

test('the longest run of common lines stays, as difflib finds it', () => {
  assert.equal(
    unifiedDiff(lines('x { p } g n r'), lines('x h g n { s } r')),
    '@@ -1,7 +1,8 @@\n x\n-{\n-p\n-}\n+h\n g\n n\n+{\n+s\n+}\n r\n',
  )
  assert.equal(unifiedDiff(['a'], ['a']), '')
  assert.equal(unifiedDiff([], ['a']), '@@ -0,0 +1 @@\n+a\n')
})

test('what a difference takes away and adds makes one text of the other', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', '}'), { maxLength: 300 })
  fc.assert(
    fc.property(text, text, (before, after) => {
      const result: string[] = []
      let at = 0
      for (const line of unifiedDiff(before, after).split('\n').slice(0, -1)) {
        const block = /^@@ -(\d+)(?:,(\d+))? /.exec(line)
        if (block) {
          const start = Number(block[1]) - (block[2] === '0' ? 0 : 1)
          result.push(...before.slice(at, start))
          at = start
        } else if (line.startsWith('+')) result.push(line.slice(1))
        else {
          assert.equal(before[at], line.slice(1))
          if (line.startsWith(' ')) result.push(line.slice(1))
          at++
        }
      }
      assert.deepEqual([...result, ...before.slice(at)], after)
    }),
  )
})
