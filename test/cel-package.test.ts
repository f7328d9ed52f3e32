// The package @keelson/cel as others get it: packed, installed into an empty folder, and used from there.
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { patient, ROOT, run, type Scope, temporaryDirectory } from './kit.ts'
import { programsNamed } from './programs.ts'

test('src/cel uses nothing but src/lib, so that it can be a package', () => {
  const sources = readdirSync(join(ROOT, 'src/cel'), { recursive: true, encoding: 'utf8' }).filter(file => /(?<!\.test)\.ts$/.test(file))
  const outside = sources.flatMap(file =>
    [...readFileSync(join(ROOT, 'src/cel', file), 'utf8').matchAll(/ from '((?:\.\.\/){2,}[^']+)'/g)]
      .map(([, path]) => path!)
      .filter(path => !path.startsWith('../../lib/'))
      .map(path => `${file}: ${path}`),
  )
  assert.ok(sources.length > 50)
  assert.deepEqual(outside, [])
})

test('the packed CEL package installs into an empty folder and works there', patient, async t => {
  const { tarball, files } = await pack(t)
  assert.deepEqual(files.sort(), [
    'README.md',
    ...['LICENSE', 'cel.cjs', 'cel.d.cts', 'cel.d.ts', 'cel.js'].map(name => `dist/${name}`),
    'package.json',
  ])
  const folder = temporaryDirectory(t)
  writeFileSync(join(folder, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }')
  await succeed('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', tarball], folder)
  const installed = join(folder, 'node_modules/@keelson/cel')
  assert.deepEqual(readdirSync(join(folder, 'node_modules/@keelson')), ['cel'])
  assert.deepEqual(
    readdirSync(join(folder, 'node_modules')).filter(name => !name.startsWith('.')),
    ['@keelson'],
  )
  const bundle = readFileSync(join(installed, 'dist/cel.cjs'), 'utf8')
  assert.ok(!bundle.includes(ROOT) && !bundle.includes(folder), 'the bundle names a path of this machine')

  await t.test('the examples of its README print what they say', async () => {
    const readme = readFileSync(join(installed, 'README.md'), 'utf8')
    const examples = [...readme.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, code]) => code!)
    assert.ok(examples.length >= 4)
    for (const [i, code] of examples.entries()) {
      writeFileSync(join(folder, `example-${i}.mjs`), code)
      const expected = [...code.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => text!)
      assert.ok(expected.length > 0)
      assert.deepEqual((await succeed(process.execPath, [`example-${i}.mjs`], folder)).trimEnd().split('\n'), expected)
    }
  })

  await t.test('every kind of value, limit and error, by import and by require, also on Node 20.0', async () => {
    writeFileSync(join(folder, 'use.mjs'), `import assert from 'node:assert/strict'\nimport * as cel from '@keelson/cel'\n${USE}`)
    writeFileSync(join(folder, 'use.cjs'), `const assert = require('node:assert/strict')\nconst cel = require('@keelson/cel')\n${USE}`)
    for (const node of [process.execPath, ...programsNamed('node-20.0'), ...programsNamed('node-26')])
      for (const file of ['use.mjs', 'use.cjs']) assert.equal(await succeed(node, [file], folder), 'done\n')
    const both = `import { createRequire } from 'node:module'
      import { CelError } from '@keelson/cel'
      console.log(createRequire(import.meta.url)('@keelson/cel').CelError === CelError)`
    writeFileSync(join(folder, 'both.mjs'), both)
    assert.equal(await succeed(process.execPath, ['both.mjs'], folder), 'true\n')
  })

  await t.test('its types are found by every module resolution, and are strict', async () => {
    const check = (name: string, text: string, flags: string) => {
      writeFileSync(join(folder, name), text)
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
      const args = [
        tsc,
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        'false',
        '--lib',
        'es2022',
        '--target',
        'es2022',
        ...flags.split(' '),
        name,
      ]
      return run(process.execPath, args, { cwd: folder })
    }
    for (const flags of ['--module node16', '--module esnext --moduleResolution bundler'])
      for (const name of ['good.mts', 'good.cts']) assert.equal((await check(name, GOOD, flags)).stdout, '')
    const { stdout } = await check('bad.mts', BAD, '--module node16')
    assert.match(stdout, /bad\.mts\(2,.*Type '"text"' is not assignable to type 'Type'/)
    assert.match(stdout, /bad\.mts\(3,.*Property 'value' does not exist/)
  })
})

const USE = `
const { compile, createEnvironment, evaluate, CelError, KUBERNETES_COST_LIMIT } = cel
assert.equal(evaluate('a.b + 1', { a: { b: 2 } }), 3)
assert.equal(evaluate('9223372036854775807'), 9223372036854775807n)
assert.equal(evaluate('5u'), 5)
assert.equal(evaluate('1.0 / 2.0'), 0.5)
assert.deepEqual(evaluate("b'ab'"), new Uint8Array(Buffer.from('ab')))
assert.deepEqual(evaluate("{'a': [1, 2], '__proto__': [3]}"), JSON.parse('{"a":[1,2],"__proto__":[3]}'))
assert.deepEqual(evaluate("{1: 'a'}"), new Map([[1, 'a']]))
assert.equal(evaluate("timestamp('2024-01-01T00:00:00Z') + duration('1h')"), '2024-01-01T01:00:00Z')
assert.equal(evaluate("duration('90s')"), '90s')
assert.equal(evaluate("optional.none()"), undefined)
assert.equal(evaluate("optional.of(1)"), 1)
assert.equal(evaluate("type(1)"), 'int')
assert.equal(evaluate("quantity('1Ki').isGreaterThan(quantity('1k')) && isIP('::1') && 'a1'.find('[0-9]') == '1'"), true)
assert.equal(evaluate("ip('10.0.0.1')"), '10.0.0.1')
const shared = evaluate('[[1, 2]].map(x, [x, x]).map(x, [x, x]).map(x, [x, x])')
assert.equal(shared[0][0], shared[0][1])

const given = { list: [1] }
assert.equal(evaluate('a', { a: given }), given)
assert.equal(compile('self.when > timestamp("2024-01-01T00:00:00Z") && self.a__dash__b == 1.0', {
  variables: { self: { type: 'object', fields: { when: 'timestamp', 'a-b': 'double' } } },
}).evaluate({ self: { when: '2025-01-01T00:00:00Z', 'a-b': 1 } }).value, true)
assert.deepEqual(compile('m.all(k, m[k] > 0)', { variables: { m: { type: 'map', values: 'int', maxEntries: 3 } } }).estimatedCost.max < 100n, true)
assert.equal(compile('x', { variables: { x: { type: 'list', items: { type: 'object', fields: { y: 'int' } } } } }).type, 'list(x.@items)')
assert.deepEqual(compile('a', { variables: { a: 'int' } }).evaluate({ a: 'one' }), {
  ok: false, error: 'invalid data, expected int, got string', reason: 'failed', cost: 1,
})
assert.equal(compile('a', { variables: { a: 'int' } }).evaluate().ok, false)
assert.equal(compile('1 / 0').evaluate().error, 'division by zero')

const loops = compile("a.all(x, a.all(y, a.all(z, x + y + z >= 0)))", { variables: { a: { type: 'list', items: 'int' } } })
const numbers = { a: Array.from({ length: 1000 }, (_, i) => i) }
const stopped = loops.evaluate(numbers)
assert.equal(stopped.reason, 'cost limit')
assert.ok(stopped.cost > KUBERNETES_COST_LIMIT)
assert.equal(loops.estimatedCost.max, 2n ** 64n - 1n)
assert.equal(compile('a == b', { variables: { a: 'dyn', b: 'dyn' } }).evaluate({ a: numbers, b: { a: [...numbers.a] } }, { maxWork: 10 }).reason, 'work limit')

assert.throws(() => compile('a +\\n  b', { variables: { a: 'int' } }), error => {
  assert.ok(error instanceof CelError)
  assert.deepEqual(error.issues, [{ message: "undeclared reference to 'b' (in container '')", line: 2, column: 3 }])
  return true
})
assert.throws(() => compile('[1].sum()', { libraries: 'standard' }), CelError)
assert.throws(() => compile('1', { variables: { a: 'text' } }), TypeError)
assert.throws(() => evaluate('[1][5]'), /index out of bounds/)

const { compile: compileHere } = createEnvironment({
  functions: [
    { name: 'shout', params: ['string'], result: 'string', member: true, cost: 5, call: text => text.toUpperCase() },
    { name: 'boom', params: [], result: 'dyn', call: () => { throw new Error('out of reach') } },
  ],
})
assert.deepEqual(compileHere("'a'.shout()").evaluate(), { ok: true, value: 'A', cost: 5 })
assert.deepEqual(compileHere("'a'.shout()").estimatedCost, { min: 5n, max: 5n })
assert.equal(compileHere('boom()').evaluate().error, 'out of reach')
assert.equal(compileHere('boom() || true').evaluate().value, true)
console.log('done')
`

const GOOD = `
  import { CelError, compile, type Outcome, type Program, type Type } from '@keelson/cel'
  const name: Type = { type: 'string', maxLength: 63 }
  export const program: Program = compile('size(name) > 3', { variables: { name } })
  const outcome: Outcome = program.evaluate({ name: 'abcd' }, { maxCost: 10 })
  export const shown: string = outcome.ok ? String(outcome.value) : outcome.error
  export const columnOf = (error: CelError): number | undefined => error.issues[0]?.column
`
const BAD = `import { compile } from '@keelson/cel'
export const a = compile('1', { variables: { a: 'text' } })
export const b = a.evaluate().value
`

/** Packs a copy of the package's files. */
async function pack(t: Scope): Promise<{ tarball: string; files: string[] }> {
  const copy = temporaryDirectory(t)
  for (const name of ['packages/cel', 'src/cel', 'src/lib', 'LICENSE', 'package.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true, filter: path => !path.endsWith('/dist') })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const printed = await succeed('npm', ['pack', '--json', '--loglevel=error'], join(copy, 'packages/cel'))
  const [{ filename, files }] = JSON.parse(printed.slice(printed.indexOf('[\n')))
  return { tarball: join(copy, 'packages/cel', filename), files: files.map((file: { path: string }) => file.path) }
}

async function succeed(program: string, args: string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, { cwd, env: process.env })
  assert.equal(code, 0, `${program} ${args.join(' ')}: ${stderr}${stdout}`)
  return stdout
}
