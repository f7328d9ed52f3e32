// A folder may import itself and the folders named beside it; src/server and the files at the top may import all.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import test from 'node:test'

const MAY_IMPORT: Readonly<Record<string, string>> = {
  lib: '',
  storage: 'lib', // bytes in, bytes out
  schema: 'lib',
  codec: 'schema lib',
  cel: 'schema lib',
  structural: 'cel codec schema lib', // what the schema of a custom kind means for its objects
  kinds: 'structural cel codec schema lib', // declarations only
  patch: 'codec schema lib',
  cache: 'storage codec schema lib',
  authn: 'kinds schema lib', // readers are injected
  authz: 'kinds schema lib',
  admission: 'cel kinds schema lib',
  registry: 'admission cache storage patch codec cel kinds schema lib',
  allocation: 'registry storage kinds schema lib', // stocks that the ledger of the registry is made of
  http: 'registry cache authn authz admission codec kinds schema lib',
  custom: 'registry cache structural codec kinds schema lib', // custom kinds at run time; the one place beside kinds where a kind is named
  client: 'codec kinds schema lib', // never the server
  controllers: 'client kinds schema lib',
}
const IMPORT = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)/g

test('imports point down', () => {
  const upward: string[] = []
  for (const file of sources()) {
    const from = file.split('/')[0]!
    if (!file.includes('/') || from === 'server' || isForTests(file)) continue
    for (const [, path] of readFileSync(`src/${file}`, 'utf8').matchAll(IMPORT)) {
      const to = join(dirname(file), path!).split('/')[0]!
      if (to !== from && !MAY_IMPORT[from]?.split(' ').includes(to)) upward.push(`${file} → ${path}`)
    }
  }
  assert.deepEqual(upward, [])
})

test('shared code never names a kind', () => {
  const naming: string[] = []
  for (const file of sources()) {
    const [folder] = file.split('/')
    if (!['schema', 'codec', 'patch', 'cache', 'registry', 'http', 'storage'].includes(folder!) || isForTests(file)) continue
    // The Scale of the scale subresource is the one kind the registry speaks itself.
    for (const [, path] of readFileSync(`src/${file}`, 'utf8').matchAll(IMPORT))
      if (/\/kinds\//.test(path!) && !path!.endsWith('/autoscaling/scale.ts')) naming.push(`${file} → ${path}`)
  }
  assert.deepEqual(naming, [])
})

const sources = () => readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
const isForTests = (file: string) => /\.test\.ts$|\btesting\b/.test(file)
