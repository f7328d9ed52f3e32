import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Request, Response } from '../message.ts'
import { filesInFolder, StaticFiles } from './static-files.ts'

const asking = (accept = '') => ({ headers: { 'accept-encoding': accept } }) as unknown as Request
const textOf = ({ status, body }: Response) => [status, Buffer.from(body as Uint8Array).toString()]

test('files are served in the best encoding that there is, and another build replaces all of them', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-files-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const files = new StaticFiles(filesInFolder(folder))
  assert.equal((await files.page(asking())).status, 503)
  mkdirSync(join(folder, 'assets'))
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  write('assets/a-1.js', 'plain')
  write('assets/a-1.js.gz', 'zipped')
  write('index.html', 'page 1')
  // A look at the folder is good for a while.
  const served = async (seek: () => Promise<Response>, expected: readonly [number, string]) => {
    for (;;) {
      const found = textOf(await seek())
      if (found[0] === expected[0] && found[1] === expected[1]) return
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  await served(() => files.page(asking('gzip, br')), [200, 'page 1'])
  assert.deepEqual(textOf(await files.asset(asking('br, gzip'), 'a-1.js')), [200, 'zipped'])
  for (const accept of ['', 'gzip;q=0, identity', 'br'])
    assert.deepEqual(textOf(await files.asset(asking(accept), 'a-1.js')), [200, 'plain'])
  for (const name of ['../index.html', 'a-1.js.gz', 'a-2.js', '.a.js', '', 'constructor'])
    assert.equal((await files.asset(asking(), name)).status, 404, name)
  rmSync(join(folder, 'assets/a-1.js'))
  rmSync(join(folder, 'index.html'))
  write('assets/b-1.js', 'new')
  write('index.html', 'page 2')
  await served(() => files.page(asking()), [200, 'page 2'])
  assert.deepEqual(textOf(await files.asset(asking(), 'b-1.js')), [200, 'new'])
  assert.equal((await files.asset(asking(), 'a-1.js')).status, 404)
})
