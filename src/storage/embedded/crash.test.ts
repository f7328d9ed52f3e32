import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { repeats } from '../../../test/kit.ts'
import { builtScript } from '../../../test/kits/script.ts'
import { text } from '../../../test/kits/storage/conformance-kit.ts'
import type { Report } from '../../../test/kits/storage/crash-writer.ts'
import { StoreUnavailable } from '../store.ts'
import { openEmbeddedStore } from './embedded.ts'

const ROUNDS = repeats(10)

function directory(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'keelson-crash-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const WRITER = fileURLToPath(new URL('../../../test/kits/storage/crash-writer.ts', import.meta.url))

type Writer = { readonly child: ChildProcess; readonly told: Report[]; heard(count: number): Promise<void> }

/** Starts a writing process from the script; `told` is what it has acknowledged so far. */
function startWriter(t: TestContext, script: string, dir: string, round: number): Writer {
  const child = fork(script, [dir, `${round}`], { execArgv: [] })
  t.after(() => child.kill('SIGKILL'))
  const told: Report[] = []
  let wake = () => {}
  child.on('message', message => {
    told.push(message as Report)
    wake()
  })
  child.on('exit', () => wake())
  const heard = async (count: number) => {
    const refused = () => told.some(one => 'refused' in one)
    while (told.length < count && !refused() && child.exitCode === null) await new Promise<void>(resolve => (wake = resolve))
  }
  return { child, told, heard }
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise(resolve => child.once('close', resolve))
  child.kill('SIGKILL')
  await gone
}

test('nothing acknowledged is lost and nothing half-written appears, however often the process is killed', async t => {
  const dir = directory(t)
  const script = builtScript(t, WRITER)
  const acknowledged = new Map<string, { value: string | null; revision: number }>()
  let newest = 1
  for (let round = 0; round < ROUNDS; round++) {
    const writer = startWriter(t, script, dir, round)
    await writer.heard(2 + ((round * 97) % 400))
    await kill(writer.child)
    for (const told of writer.told) {
      assert.ok(!('refused' in told), 'refused' in told ? told.refused : '')
      if ('newest' in told) assert.ok(told.newest >= newest, 'revisions went back')
      else {
        acknowledged.set(told.key, told)
        newest = Math.max(newest, told.revision)
      }
    }

    const store = await openEmbeddedStore({ dir })
    try {
      const extent = await store.extent()
      assert.ok(extent.newest >= newest, 'an acknowledged revision is gone')
      const { entries } = await store.list('/')
      for (const entry of entries) {
        assert.equal(entry.fault, undefined)
        assert.match(text(entry.value), /^\d+ \d+ \d+ x*$/)
      }
      for (const [key, { value, revision }] of acknowledged) {
        const { entry } = await store.get(key)
        // A later write of the same key may have become durable without its answer being heard.
        if (entry ? entry.modified > revision : value !== null) {
          assert.ok(revision < extent.newest)
          if (revision >= extent.oldest)
            assert.equal((await store.get(key, revision)).entry?.modified ?? null, value === null ? null : revision)
        } else {
          assert.equal(entry ? text(entry.value) : null, value)
        }
      }
      newest = extent.newest
    } finally {
      await store.close()
    }
  }
})

test('a second process is refused by name, and let in at once after the first was killed', async t => {
  const dir = directory(t)
  const script = builtScript(t, WRITER)
  const first = startWriter(t, script, dir, 0)
  await first.heard(3)
  const refusal = (error: Error) => error instanceof StoreUnavailable && error.message.includes(`process ${first.child.pid}`)
  await assert.rejects(openEmbeddedStore({ dir }), refusal)
  const second = startWriter(t, script, dir, 1)
  await second.heard(1)
  assert.match((second.told[0] as { refused: string }).refused, new RegExp(`process ${first.child.pid} has it open; stop that one first`))
  await kill(first.child)
  const store = await openEmbeddedStore({ dir })
  await store.close()
})
