// YAML as the console writes and reads it: every object becomes the same again, read by the editor's parser and by the server's.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { forPeople, pathText, valueAt, yamlLines, yamlText } from '../../console/core/yaml-lines.ts'
import { parseYaml, spanOf } from '../../console/parts/editor/yaml-tree.ts'
import { parseYaml as parseOnServer } from '../../src/codec/yaml.ts'

const ODD = [
  '',
  ' ',
  'yes',
  'null',
  '~',
  '1',
  '1e3',
  '0x1',
  '-',
  '- a',
  'a: b',
  'a #b',
  "it's",
  '"',
  '\\',
  'é😀',
  '2026-01-01',
  '<<',
  '{',
  '*a',
]
const text = fc.oneof(
  fc.constantFrom(...ODD, 'a\nb', 'a\n', 'a\n\nb\n', '  a\nb', '\n', 'a\n\n', 'a\tb', '\u0007'),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: fc.constantFrom('a', ' ', '\n', ':', '#', "'", '-'), maxLength: 10 }),
)
const { value } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom('name', 'spec', 'type', 'a.b/c'), text), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))
const object = fc.dictionary(fc.constantFrom('metadata', 'spec', 'kind', 'x'), value, { minKeys: 1, noNullPrototype: true })

const plain = (parsed: unknown) => JSON.parse(JSON.stringify(parsed, (_, item) => (typeof item === 'bigint' ? Number(item) : item)))

test('the server reads what the console writes as the same object', () => {
  fc.assert(
    fc.property(object, given => assert.deepEqual(plain(parseOnServer(yamlText(given)).value), plain(given), yamlText(given))),
    { numRuns: 300 },
  )
})

test('the editor reads what the console writes as the same object', () => {
  fc.assert(
    fc.property(object, given => {
      const { value, problems } = parseYaml(yamlText(given))
      assert.deepEqual(problems, [], yamlText(given))
      assert.deepEqual(plain(value), plain(given), yamlText(given))
    }),
    { numRuns: 300 },
  )
})

test('every line has the path of its field, and items of lists are named by their key', () => {
  const given = { spec: { containers: [{ name: 'web', image: 'a', args: ['x', 'z'] }] } }
  assert.deepEqual(
    yamlLines(given).map(({ text, path }) => `${text} → ${pathText(path)}`),
    [
      'spec: → spec',
      '  containers: → spec.containers',
      '  - name: web → spec.containers[name=web].name',
      '    args: → spec.containers[name=web].args',
      '    - x → spec.containers[name=web].args[0]',
      '    - z → spec.containers[name=web].args[1]',
      '    image: a → spec.containers[name=web].image',
    ],
  )
  for (const { path, isOpening } of yamlLines(given)) if (!isOpening) assert.notEqual(valueAt(given, path), undefined, pathText(path))
  assert.deepEqual(forPeople({ metadata: { name: 'a', managedFields: [], resourceVersion: '1' } }, { isStable: true }), {
    metadata: { name: 'a' },
  })
})

test('unfinished text has a value and a problem at its place; errors of the server are found at their field', () => {
  const broken = parseYaml('a: 1\nb: [')
  assert.deepEqual(broken.value.a, 1)
  assert.ok(broken.problems.every(({ from }) => from >= 5))
  const twice = parseYaml('a: 1\na: 2\n')
  assert.match(twice.problems[0]!.message, /"a" is there twice/)
  const source = 'metadata:\n  labels:\n    app: x\nspec:\n  containers:\n  - name: web\n    image: a\n'
  const parsed = parseYaml(source)
  const at = (field: string) => {
    const span = spanOf(parsed, field)
    return span && source.slice(span.from, span.to).trim()
  }
  assert.equal(at('spec.containers[0].image'), 'image')
  assert.equal(at('spec.containers[0].ports[2]'), 'name: web')
  assert.equal(at('metadata.labels[app]'), 'app')
  assert.equal(at('nothing.of.it'), undefined)
})
