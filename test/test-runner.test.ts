// The test runner of this project (scripts/test.mjs): no failure is lost, and nothing is left out silently.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { patient } from './kit.ts'
import { smallCheckout } from './kits/small-checkout.ts'

const IMPORTS = `import assert from 'node:assert/strict'
  import { appendFileSync } from 'node:fs'
  import { before, beforeEach, test } from 'node:test'\n`

test('each failure is reported by its file and name, with its message and its place', patient, async t => {
  const { test } = smallCheckout(t, {
    'test/fails.test.ts': `${IMPORTS}
      test('passes', () => {})
      test('outer', async t => {
        t.diagnostic('seed 5')
        await t.test('inner', () => assert.equal(1, 2))
      })
      test('late', () => {
        setTimeout(() => { throw new Error('too late') }, 5)
        return new Promise(resolve => setTimeout(resolve, 100))
      })`,
    'test/loads.test.ts': "throw new Error('at load')",
    'test/ends.test.ts': `${IMPORTS} test('ends', () => process.exit(0))`,
    'test/none.test.ts': '',
    'test/after.test.ts': `${IMPORTS} test('the others do not matter', () => {})`,
  })
  const { code, stdout, stderr } = await test(['test/'])
  assert.equal(code, 1)
  for (const text of [stdout, stderr]) {
    assert.match(text, /✖ outer > inner\n {2}test\/fails\.test\.ts\n.*Expected values to be strictly equal:\n[\s\S]*?1 !== 2/)
    assert.match(text, /\/test\/fails\.test\.ts:8:\d+\)/)
    assert.match(text, /seed 5/)
    assert.match(text, /✖ late\n {2}test\/fails\.test\.ts\n.*too late/)
    assert.match(text, /✖ the file itself\n {2}test\/loads\.test\.ts\n.*at load/)
    assert.match(text, /✖ the file itself\n {2}test\/ends\.test\.ts\n.*ended before the file did \(exit code 0\)/)
    assert.match(text, /✖ the file itself\n {2}test\/none\.test\.ts\n.*the file has no test/)
  }
  assert.match(stdout, /✔ the others do not matter {2}\(test\/after\.test\.ts\)/)
  assert.match(stdout, /\n5 files, 2 tests passed, \d failed, in /)
  assert.match(stdout, /\nslowest files/)
})

test('a test that skips itself is named, and is a failure in CI', patient, async t => {
  const { test } = smallCheckout(t, { 'test/skips.test.ts': `${IMPORTS} test('looks', t => t.skip('no reason'))` })
  const here = await test(['skips'])
  assert.deepEqual([here.code, here.stderr], [0, 'NOT RUN: looks  (test/skips.test.ts): no reason\n'], here.stdout)
  assert.equal((await test(['skips'], { CI: 'true' })).code, 1)
})

test('files share a process and not their hooks, unless one is to be alone', patient, async t => {
  const file = (name: string) => `${IMPORTS}
    const note = (what: string) => appendFileSync('notes', \`${name} \${what} \${process.pid}\\n\`)
    before(() => note('before'))
    beforeEach(() => note('each'))
    test('${name}', () => note('test'))`
  const { folder, write, test } = smallCheckout(t, {
    'test/a.test.ts': file('a'),
    'test/b.test.ts': file('b'),
    'test/c.test.ts': file('c'),
  })
  write('scripts/test-sets.mjs', "export const LEFT_OUT = {}, ALONE = { 'test/c.test.ts': 'it changes everything' }, HEAVY = [], LONG = []")
  assert.equal((await test(['test/'])).code, 0)
  const notes = readFileSync(join(folder, 'notes'), 'utf8')
    .trim()
    .split('\n')
    .map(line => line.split(' '))
  assert.deepEqual(
    notes.map(([name, what]) => `${name} ${what}`),
    ['a', 'b', 'c'].flatMap(name => [`${name} before`, `${name} each`, `${name} test`]),
  )
  const [a, b, c] = [notes[0]![2], notes[3]![2], notes[6]![2]]
  assert.equal(a, b)
  assert.notEqual(a, c)
})

test('files that npm test leaves out are run by themselves, and a name in the lists that no file has is an error', patient, async t => {
  const { write, test } = smallCheckout(t, {
    'src/a.test.ts': `${IMPORTS} test('a unit', () => {})`,
    'test/b.test.ts': `${IMPORTS} test('a long one', () => {})`,
  })
  write('scripts/test-sets.mjs', "export const LEFT_OUT = { 'takes long': ['test/b.test.ts'] }, ALONE = {}, HEAVY = [], LONG = []")
  // The second is `npm run test:all -- --rest`.
  for (const options of [['--rest'], ['--all', '--rest']]) {
    const rest = await test(options)
    assert.equal(rest.code, 0, rest.stderr)
    assert.match(rest.stdout, /\n1 files, 1 tests passed, 0 failed/)
  }
  write('scripts/test-sets.mjs', "export const LEFT_OUT = { 'takes long': ['test/gone.test.ts'] }, ALONE = {}, HEAVY = [], LONG = []")
  const stale = await test(['--rest'])
  assert.deepEqual([stale.code, stale.stderr], [1, 'scripts/test-sets.mjs names test/gone.test.ts, which there is not\n'])
})

test('files that take longest begin first', patient, async t => {
  const file = (name: string) => `${IMPORTS} test('${name}', () => appendFileSync('notes', '${name} '))`
  const names = ['a', 'b', 'c', 'd']
  const { folder, write, test } = smallCheckout(t, Object.fromEntries(names.map(name => [`test/${name}.test.ts`, file(name)])))
  write(
    'scripts/test-sets.mjs',
    "export const LEFT_OUT = {}, ALONE = {}, HEAVY = [], LONG = ['test/d.test.ts', 'test/c.test.ts', 'test/b.test.ts']",
  )
  assert.equal((await test(['test/'])).code, 0)
  assert.equal(readFileSync(join(folder, 'notes'), 'utf8'), 'd c b a ')
})

test('files that keep several processors busy run one at a time, in one process', patient, async t => {
  const file = (name: string) => `${IMPORTS} test('${name}', async () => {
    appendFileSync('notes', \`${name} begins \${process.pid}\\n\`)
    await new Promise(resolve => setTimeout(resolve, 50))
    appendFileSync('notes', \`${name} ends \${process.pid}\\n\`)
  })`
  const names = ['a', 'b', 'c']
  const { folder, write, test } = smallCheckout(t, Object.fromEntries(names.map(name => [`test/${name}.test.ts`, file(name)])))
  const heavy = JSON.stringify(names.map(name => `test/${name}.test.ts`))
  write('scripts/test-sets.mjs', `export const LEFT_OUT = {}, ALONE = {}, HEAVY = ${heavy}, LONG = []`)
  assert.equal((await test(['test/'], { KEELSON_TEST_PROCESSES: '2' })).code, 0)
  const notes = readFileSync(join(folder, 'notes'), 'utf8').trim().split('\n')
  const [, , pid] = notes[0]!.split(' ')
  assert.deepEqual(
    notes,
    names.flatMap(name => [`${name} begins ${pid}`, `${name} ends ${pid}`]),
  )
})

test('a check that fails beside the tests ends the run, and says why', patient, async t => {
  const { test } = smallCheckout(t, { 'test/a.test.ts': `${IMPORTS} test('passes', () => {})` })
  const { code, stderr } = await test([])
  assert.equal(code, 1)
  assert.match(stderr, /test\/a\.test\.ts[\s\S]*format and lint: FAILED\n$/)
})
