// Documents agree with the code: links, paths, steps, names, flags, and the tests that they cite.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { FLAGS } from '../src/flags/serve-flags.ts'
import { CONTROLLERS } from '../src/server/controller-table.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDERS = ['docs', 'docs/decisions']
const DOCUMENTS = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'bench/README.md',
  'packages/cel/README.md',
  ...FOLDERS.flatMap(folder =>
    readdirSync(join(ROOT, folder))
      .filter(name => name.endsWith('.md'))
      .map(name => `${folder}/${name}`),
  ),
]

/** Options of Node that are named, but used by hand. */
const OF_NODE = ['includeObjectsCollectedByMajorGC']

/** Placeholders, and files that examples tell the reader to create. */
const EXAMPLES = /^src\/(?:controllers\/configcopier\/|kinds\/garden\/)|\/(?:GROUP|NAME)\b/

for (const document of DOCUMENTS) {
  const text = readFileSync(join(ROOT, document), 'utf8')

  test(`${document}: no mark of a merge is left`, () => {
    assert.deepEqual(text.match(/^(?:<{7}|\|{7}|>{7}|={7}$).*$/gm), null)
  })

  test(`${document}: relative links lead to files and headings that exist`, () => {
    const broken = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target!)
      .filter(target => !/^[a-z]+:/.test(target) && !leads(document, target))
    assert.deepEqual(broken, [])
  })

  test(`${document}: every path of a file in the repository exists`, () => {
    const named = text.match(/(?<![\w./-])(?:src|test|bench|scripts|bin|docs|packages)\/[\w./-]*[\w/]/g) ?? []
    assert.deepEqual(
      [...new Set(named)].filter(path => !EXAMPLES.test(path) && !existsSync(join(ROOT, path))),
      [],
    )
  })

  test(`${document}: every source file that is named exists`, () => {
    const named = [...withoutCode(text).matchAll(/`([\w./-]+\.(?:ts|js|mjs))`/g)].map(([, path]) => path!)
    assert.deepEqual(
      [...new Set(named)].filter(path => !EXAMPLES.test(path) && !FILES.some(file => file.endsWith(`/${path}`))),
      [],
    )
  })
}

test('docs/life-of-a-request.md has the steps of a write in the order of the code', () => {
  const source = readFileSync(join(ROOT, 'src/registry/write.ts'), 'utf8')
  const steps = /const STEPS[^=]*= \[([^\]]*)\]/.exec(source)![1]!.match(/\w+/g)
  const text = readFileSync(join(ROOT, 'docs/life-of-a-request.md'), 'utf8')
  assert.deepEqual(
    [...text.matchAll(/^\d+\. \*\*(\w+)\*\*/gm)].map(([, step]) => step),
    steps,
  )
})

test('functions and fields that the pages about the code name exist', () => {
  const pages = ['CONTRIBUTING.md', ...['life-of-a-request', 'life-of-a-watch', 'custom-kinds', 'scheduler'].map(page => `docs/${page}.md`)]
  const sources = FILES.filter(file => /^\/(?:(?:src|bin)\/.*\.[jt]s|test\/(?:kit|kits\/[\w-]+)\.ts)$/.test(file)).map(file =>
    readFileSync(join(ROOT, file), 'utf8'),
  )
  const words = new Set(sources.flatMap(source => source.match(/\w+/g) ?? []))
  const named = pages.flatMap(page => [...readFileSync(join(ROOT, page), 'utf8').matchAll(/`([a-z]+(?:[A-Z]\w*)+)[`(]/g)])
  assert.ok(named.length > 20)
  assert.deepEqual(
    named.map(([, name]) => name!).filter(name => !words.has(name) && !OF_NODE.includes(name)),
    [],
  )
})

test('docs/adding-a-kind.md imports files that exist', () => {
  const text = readFileSync(join(ROOT, 'docs/adding-a-kind.md'), 'utf8')
  const imported = [...text.matchAll(/ from '(\.[^']+)'/g)].map(([, path]) => join('src/kinds/garden', path!))
  assert.ok(imported.length > 4)
  assert.deepEqual(
    imported.filter(path => !EXAMPLES.test(path) && !existsSync(join(ROOT, path))),
    [],
  )
})

test('ARCHITECTURE.md has every folder of src in its map, ten invariants with their tests, and every dependency', () => {
  const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter(entry => entry.isDirectory())
  assert.deepEqual(
    folders.map(({ name }) => `src/${name}`).filter(folder => !text.includes(`\`${folder}\``)),
    [],
  )
  const invariants = [...text.matchAll(/^(\d+)\. \*\*.*$/gm)]
  assert.deepEqual(
    invariants.map(([, number]) => Number(number)),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  )
  for (const [line] of invariants) assert.match(line, /`(?:src|test)\/[\w./-]+\.test\.ts`/)
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  assert.ok(text.includes(`dependencies other than ${listed(Object.keys(dependencies))} |`))
})

test('docs/flags.md has a row for every flag, which says what the help says', () => {
  const rows = readFileSync(join(ROOT, 'docs/flags.md'), 'utf8')
    .split('\n')
    .filter(line => line.startsWith('| `--'))
  const escaped = (cell: string) => cell.replaceAll('|', '\\|')
  assert.deepEqual(rows.sort(), FLAGS.map(({ name, takes, doc }) => `| \`--${name} ${escaped(takes)}\` | ${escaped(doc)} |`).sort())
})

test('docs/controllers.md has every controller', () => {
  const text = readFileSync(join(ROOT, 'docs/controllers.md'), 'utf8')
  assert.deepEqual(
    [...CONTROLLERS.keys()].filter(name => !text.includes(`\`${name}\``)),
    [],
  )
})

test('every test that is cited by the beginning of its title exists', () => {
  const citing = ['ARCHITECTURE.md', 'docs/spec-coverage.md', 'docs/security.md']
    .map(document => readFileSync(join(ROOT, document), 'utf8'))
    .join('\n')
  const tests = FILES.filter(file => file.endsWith('.test.ts')).map(file => readFileSync(join(ROOT, file), 'utf8'))
  const cited = [...citing.matchAll(/(?<![*\w])\*([^*|`]+)…\*/g)].map(([, title]) => title!)
  assert.ok(cited.length > 50)
  assert.deepEqual(
    cited.filter(title => !tests.some(text => text.includes(title) || text.includes(title.replaceAll("'", "\\'")))),
    [],
  )
})

const FILES = ['src', 'test', 'bench', 'scripts', 'bin', 'docs', 'packages'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(path => `/${folder}/${path.replaceAll('\\', '/')}`),
)

const listed = (names: readonly string[]) =>
  `${names
    .slice(0, -1)
    .map(name => `\`${name}\``)
    .join(', ')} and \`${names.at(-1)}\``

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```/gm, '')

function leads(document: string, target: string): boolean {
  const [path, heading] = target.split('#') as [string, string?]
  const file = path === '' ? document : join(dirname(document), path)
  if (!existsSync(join(ROOT, file))) return false
  return heading === undefined || headingsOf(readFileSync(join(ROOT, file), 'utf8')).includes(heading)
}

/** The anchors that GitHub gives to headings. */
const headingsOf = (text: string) =>
  [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
