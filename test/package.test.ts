// What users install: the package is packed, installed into an empty folder, and used from there.
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, patient, ROOT, run, type Scope, startProcess, temporaryDirectory } from './kit.ts'

const SOURCES = ['bin', 'scripts', 'src', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json']
const MAY_BE_THERE = ['README.md', 'CHANGELOG.md', 'LICENSE']

test('the packed package installs into an empty folder and works there', { timeout: 2 * patient.timeout }, async t => {
  const { tarball, files } = await pack(t)

  await t.test('it holds the built server and no sources, tests or paths of the machine it was built on', () => {
    const expected =
      /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|bin\/(keelson\.js|require-node\.js|start\.js|package\.json)|dist\/(cli\.cjs|keelson\.js)|dist\/types\/.+\.d\.ts)$/
    assert.deepEqual(
      files.filter(file => !expected.test(file)),
      [],
    )
    for (const needed of ['bin/keelson.js', 'dist/cli.cjs', 'dist/keelson.js', 'dist/types/index.d.ts'])
      assert.ok(files.includes(needed), `${needed} is missing`)
  })

  const folder = temporaryDirectory(t)
  const installed = join(folder, 'node_modules/keelson')
  writeFileSync(join(folder, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }')
  await succeed('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', tarball], folder)
  for (const file of textFiles(installed)) {
    const text = readFileSync(file, 'utf8')
    assert.ok(!text.includes(ROOT) && !text.includes(folder), `${file} names a path of this machine`)
  }

  await t.test('npx finds it, and what npx runs serves', async t => {
    assert.match(await succeed('npx', ['--no-install', 'keelson', 'version'], folder), /^keelson \d/)
    const server = await startProcess(t, { command: [process.execPath, join(folder, 'node_modules/.bin/keelson')], cwd: folder })
    assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('installed') })).status, 201)
    const yaml = await ask(server, `${CONFIG_MAPS}/installed`, { headers: { accept: 'application/yaml' } })
    assert.match(yaml.text, /^ {2}name: installed$/m)
    assert.deepEqual(await server.stop(), { code: 0, signal: null })
  })

  await t.test('it is a library there', async () => {
    const file = join(folder, 'use.js')
    writeFileSync(
      file,
      `import { start, VERSION } from 'keelson'
       const server = await start()
       const answer = await server.fetch('/api/v1/namespaces/default')
       console.log(VERSION, (await answer.json()).status.phase)
       await server.close()`,
    )
    assert.match(await succeed(process.execPath, [file], folder), /^\d+\.\d+\.\d+\S* Active\n$/)
  })

  await t.test('its types are found, and they are strict', async () => {
    const compile = async (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      const flags = '--noEmit --strict --module nodenext --target es2022 --lib es2023,esnext.disposable --types node'.split(' ')
      return run(process.execPath, [tsc(), ...flags, '--typeRoots', join(ROOT, 'node_modules/@types'), name], { cwd: folder })
    }
    const good = await compile(
      'good.ts',
      "import { start } from 'keelson'\nconst url: Promise<string> = start({ port: 0 }).then(server => server.url)\nvoid url\n",
    )
    assert.deepEqual([good.code, good.stdout], [0, ''])
    const bad = await compile('bad.ts', "import { start } from 'keelson'\nvoid start({ port: 'any' })\n")
    assert.match(bad.stdout, /Type 'string' is not assignable to type 'number'/)
  })
})

/** Packs a copy of the checkout: building it must not disturb the tests that run beside this one. */
async function pack(t: Scope): Promise<{ tarball: string; files: string[] }> {
  const copy = temporaryDirectory(t)
  for (const name of [...SOURCES, ...MAY_BE_THERE])
    if (existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  // Whatever lies about must not come along.
  mkdirSync(join(copy, 'keelson-data'))
  writeFileSync(join(copy, 'keelson-data/admin.kubeconfig'), 'secret')
  const printed = await succeed('npm', ['pack', '--json', '--loglevel=error'], copy)
  const [{ filename, files }] = JSON.parse(printed.slice(printed.indexOf('[\n')))
  return { tarball: join(copy, filename), files: files.map((file: { path: string }) => file.path) }
}

async function succeed(program: string, args: string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, { cwd, env: process.env })
  assert.equal(code, 0, `${program} ${args.join(' ')}: ${stderr}${stdout}`)
  return stdout
}

const tsc = () => join(ROOT, 'node_modules/typescript/bin/tsc')

const textFiles = (directory: string) =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter(file => !file.includes('node_modules') && /\.(c?js|json|d\.ts|md)$/.test(file))
    .map(file => join(directory, file))
