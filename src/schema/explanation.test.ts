import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Explanation } from './explanation.ts'

test('steps are reported in order, unrelated ones last', () => {
  const explanation = new Explanation()
  explanation.addUnrelated({ webhook: 'far', outcome: 'skipped', because: 'rules' })
  explanation.add({ plugin: 'A', outcome: 'mutated' })
  explanation.add({ policy: 'p', outcome: 'rejected' })
  assert.deepEqual(JSON.parse(explanation.toHeader()), [
    { plugin: 'A', outcome: 'mutated' },
    { policy: 'p', outcome: 'rejected' },
    { webhook: 'far', outcome: 'skipped', because: 'rules' },
  ])
  assert.deepEqual(explanation.steps, JSON.parse(explanation.toHeader()))
})

test('a header is plain ASCII whatever the texts are', () => {
  const explanation = new Explanation()
  explanation.add({ policy: 'p', because: 'nö\r\nSet-Cookie: 😀' })
  const header = explanation.toHeader()
  assert.match(header, /^[\x20-\x7e]+$/)
  assert.equal(JSON.parse(header)[0].because, 'nö\r\nSet-Cookie: 😀')
})

test('a header has a bound, and says how many steps do not fit', () => {
  const explanation = new Explanation()
  for (let i = 0; i < 5000; i++) explanation.addUnrelated({ webhook: `w${i}.example.com`, outcome: 'skipped', because: 'rules' })
  explanation.add({ policy: 'p', outcome: 'rejected', because: 'x'.repeat(100_000) })
  const header = explanation.toHeader()
  assert.ok(header.length <= 8192)
  const steps = JSON.parse(header)
  assert.equal(steps[0].policy, 'p')
  assert.equal(steps.length - 1 + Number(steps.at(-1).leftOut), 5001)
})

test('details are times and changes, as many as fit, and only where they were asked for', () => {
  const [detailed, plain] = [new Explanation({ isDetailed: true }), new Explanation()]
  const long = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key${i}`, 'x'.repeat(30)]))
  for (const explanation of [detailed, plain])
    explanation.add({ plugin: 'A', outcome: 'mutated' }, { since: performance.now(), before: {}, after: { big: 5n, ...long } })
  const [step] = JSON.parse(detailed.toHeader())
  const changes = JSON.parse(step.patch)
  assert.deepEqual(changes[0], { op: 'add', path: '/big', value: 5 })
  assert.ok(changes.length > 5 && step.patch.length <= 1024)
  assert.equal(changes.length + Number(step.moreChanges), 101)
  assert.deepEqual(Object.keys(detailed.steps[0]!), ['plugin', 'outcome', 'ms', 'moreChanges'])
  assert.deepEqual(JSON.parse(plain.toHeader()), [{ plugin: 'A', outcome: 'mutated' }])
})
