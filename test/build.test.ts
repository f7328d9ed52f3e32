// Builds replace files one by one: a program that uses them meanwhile never finds half of one, or none.
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { patient, ROOT, run, type Scope, temporaryDirectory } from './kit.ts'

/** A package small enough to be built in a moment, by the same script. */
function smallPackage(t: Scope): string {
  const folder = temporaryDirectory(t)
  for (const file of ['scripts', 'bin']) cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'small', version: '1.0.0', type: 'module' }))
  for (const entry of [
    'src/codec/transcode-worker.ts',
    'src/commands/supervisor/main.ts',
    'src/nodes/script/command-worker.ts',
    'src/server/validation/validation-worker.ts',
  ]) {
    mkdirSync(dirname(join(folder, entry)), { recursive: true })
    writeFileSync(join(folder, entry), '')
  }
  for (const file of ['compiled-code.ts', 'trusted-place.ts']) cpSync(join(ROOT, 'src/lib', file), join(folder, 'src/lib', file))
  mkdirSync(join(folder, 'console'))
  writeFileSync(join(folder, 'console/main.tsx'), "document.title = 'small'\n")
  writeFileSync(join(folder, 'console/index.html'), '<!-- scripts -->')
  writeFileSync(join(folder, 'src/index.ts'), 'export const answer = 41 + 1\n')
  writeFileSync(join(folder, 'src/public.d.ts'), 'export const answer: number\n')
  mkdirSync(join(folder, 'src/controller-library'))
  writeFileSync(join(folder, 'src/controller-library/index.ts'), 'export const question = 6 * 7\n')
  writeFileSync(join(folder, 'src/controller-library/public.d.ts'), 'export const question: number\n')
  return folder
}

const CLI = `
export async function main(): Promise<number> {
  console.log('MARK')
  await new Promise(resolve => process.once('SIGTERM', resolve))
  return 0
}
`
const writeCli = (folder: string, mark: string) => writeFileSync(join(folder, 'src/cli.ts'), CLI.replace('MARK', mark))
const build = (cwd: string, ...args: string[]) => run(process.execPath, ['scripts/build.mjs', ...args], { cwd })

test('builds at the same time disturb neither each other nor running servers', patient, async t => {
  const folder = smallPackage(t)
  const cli = join(folder, 'dist/cli.cjs')
  writeCli(folder, 'first')
  const { code, stdout, stderr } = await build(folder)
  assert.equal(code, 0, stdout + stderr)
  assert.match(readFileSync(cli, 'utf8'), /first/)
  for (const file of ['keelson.d.ts', 'keelson.d.cts']) assert.ok(existsSync(join(folder, 'dist', file)))
  assert.equal((await import(join(folder, 'dist/keelson.js'))).answer, 42)
  assert.equal((await import(join(folder, 'dist/controller.js'))).question, 42)
  const [, script = ''] =
    /src="\/console\/(assets\/main-\w+\.js)"/.exec(readFileSync(join(folder, 'dist/console/index.html'), 'utf8')) ?? []
  assert.match(readFileSync(join(folder, 'dist/console', script), 'utf8'), /small/)
  writeFileSync(join(folder, 'dist/left-over.js'), '')

  writeCli(folder, 'other')
  const seen = new Set<string>()
  const look = setInterval(() => {
    for (const file of ['dist/cli.cjs', 'dist/keelson.cjs', 'dist/keelson.d.ts']) seen.add(readFileSync(join(folder, file), 'utf8'))
  }, 1)
  const both = await Promise.all([build(folder), build(folder, '--if-stale')])
  clearInterval(look)
  assert.deepEqual(
    both.map(one => one.code),
    [0, 0],
    both.map(one => one.stdout + one.stderr).join(''),
  )
  // Two versions of the command, one of the library and of its types, each of them whole.
  assert.ok(seen.size <= 4, [...seen].join('\n---\n'))
  for (const text of seen) assert.match(text, /first|other|answer|library/)
  assert.match(readFileSync(cli, 'utf8'), /other/)
  assert.deepEqual(
    // Without code that was compiled meanwhile.
    readdirSync(join(folder, 'dist')).filter(file => file !== 'compiled'),
    [
      'cli.cjs',
      'compiled-code.cjs',
      'console',
      'controller.cjs',
      'controller.d.cts',
      'controller.d.ts',
      'controller.js',
      'keelson.cjs',
      'keelson.d.cts',
      'keelson.d.ts',
      'keelson.js',
      'library.cjs',
      'supervisor.cjs',
    ],
  )
  assert.deepEqual(
    readdirSync(folder).filter(file => file.startsWith('.build')),
    [],
  )
})

test('a build that fails leaves the previous build in place', patient, async t => {
  const folder = smallPackage(t)
  writeCli(folder, 'good')
  assert.equal((await build(folder, '--if-stale')).code, 0)
  writeFileSync(join(folder, 'src/cli.ts'), 'export const = 1\n')
  const { code } = await build(folder, '--if-stale')
  assert.notEqual(code, 0)
  assert.match(readFileSync(join(folder, 'dist/cli.cjs'), 'utf8'), /good/)
  assert.deepEqual(readdirSync(folder).sort(), ['bin', 'console', 'dist', 'node_modules', 'package.json', 'scripts', 'src'])
})

test('compiled code is kept for each set of flags of V8, for a few of them', patient, async t => {
  const folder = smallPackage(t)
  writeCli(folder, 'good')
  assert.equal((await build(folder)).code, 0)
  const ofLibrary = () => readdirSync(join(folder, 'dist/compiled')).filter(file => file.startsWith('library-'))
  const kept = () => ofLibrary().map(file => [file, statSync(join(folder, 'dist/compiled', file)).ino])
  const load = async (...flags: string[]) => {
    const { stdout } = await run(process.execPath, [...flags, '-p', 'require("./dist/keelson.cjs").answer'], { cwd: folder })
    assert.equal(stdout, '42\n')
  }
  await load()
  const usual = kept()
  assert.equal(usual.length, 1)
  await load()
  assert.deepEqual(kept(), usual, 'code that was used is not written again')
  await load('--stack-size=900')
  assert.equal(kept().length, 2)
  const isUsualKept = () => kept().some(file => isDeepStrictEqual(file, usual[0]))
  assert.ok(isUsualKept(), 'the code for the usual flags is as it was')
  for (let size = 901; size <= 909; size++) {
    await load(`--stack-size=${size}`)
    await load()
  }
  assert.equal(kept().length, 8)
  assert.ok(isUsualKept(), 'the code that was used last stays')
})
