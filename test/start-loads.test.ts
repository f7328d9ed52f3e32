// A start takes little time because it loads little.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { KEELSON, patient, ROOT, startProcess, temporaryDirectory } from './kit.ts'

test('a server that nobody asks for anything loads no module of Node that is seldom used', patient, async t => {
  const { SELDOM } = await import(join(ROOT, 'scripts/lazy-builtins.mjs'))
  const folder = temporaryDirectory(t)
  const [script, list] = [join(folder, 'list-modules.cjs'), join(folder, 'modules')]
  writeFileSync(
    script,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(list)}, process.moduleLoadList.join('\\n')))`,
  )
  const server = await startProcess(t, { command: [process.execPath, '--require', script, KEELSON] })
  await server.stop()
  const loaded = readFileSync(list, 'utf8').split('\n')
  assert.ok(loaded.includes('NativeModule tls'), 'the list has the modules that are loaded')
  for (const name of SELDOM) assert.ok(!loaded.includes(`NativeModule ${name}`), name)
})
