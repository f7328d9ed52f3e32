// A release writes the URL of the repository, and absolute links, into the package.
import assert from 'node:assert/strict'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, run, temporaryDirectory } from './kit.ts'

const ADDRESS = 'https://git.example/boats/keelson'

test('a release names its repository, and its pages link to the files of the release', async t => {
  const folder = temporaryDirectory(t)
  for (const file of ['package.json', 'README.md', 'CHANGELOG.md']) cpSync(join(ROOT, file), join(folder, file))
  const before = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const named = await nameRepository([`${ADDRESS}.git`, 'v1.2.3'], folder)
  assert.equal(named.code, 0, named.stderr)

  const { repository, homepage, bugs, ...rest } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  assert.deepEqual(rest, before)
  assert.deepEqual(repository, { type: 'git', url: `git+${ADDRESS}.git` })
  assert.equal(homepage, `${ADDRESS}#readme`)
  assert.deepEqual(bugs, { url: `${ADDRESS}/issues` })

  const links = [...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!)
  assert.deepEqual(
    links.filter(link => !/^(https:|#)/.test(link)),
    [],
  )
  const own = links.filter(link => link.startsWith(ADDRESS))
  assert.ok(own.includes(`${ADDRESS}/blob/v1.2.3/docs/library.md`), own.join('\n'))
  for (const link of own) {
    const path = link.replace(/^.*\/(?:blob|raw)\/v1\.2\.3\//, '').replace(/#.*/, '')
    assert.ok(existsSync(join(ROOT, path)), `${path} is not there`)
  }
})

test('an address that is none is refused, and nothing is changed', async t => {
  const folder = temporaryDirectory(t)
  for (const file of ['package.json', 'README.md', 'CHANGELOG.md']) cpSync(join(ROOT, file), join(folder, file))
  for (const address of [[], [''], ['git@git.example:boats/keelson'], ['http://git.example/boats/keelson'], ['https://git.example']]) {
    const refused = await nameRepository(address, folder)
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /^the address of the repository must be a URL/)
  }
  for (const file of ['package.json', 'README.md', 'CHANGELOG.md'])
    assert.equal(readFileSync(join(folder, file), 'utf8'), readFileSync(join(ROOT, file), 'utf8'))
})

function nameRepository(args: readonly string[], cwd: string) {
  return run(process.execPath, [join(ROOT, 'scripts/name-repository.mjs'), ...args], { cwd })
}
