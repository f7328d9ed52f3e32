// Manifests of the breadth of public charts are accepted by kubectl apply, client-side and server-side, and read back as they were written.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { applyEachWay, openServer, storedAnew } from './applying.ts'
import { patient, ROOT } from './kit.ts'

const DIRECTORY = join(ROOT, 'test/manifests')

test('every object of every manifest is accepted and reads back', patient, async t => {
  const { server, kubectl } = await openServer(t)
  for (const file of readdirSync(DIRECTORY).sort()) await t.test(file, () => applyEachWay(kubectl, join(DIRECTORY, file)))
  assert.deepEqual(await storedAnew(server), [], 'what is replaced by itself stays the version it is')
})
