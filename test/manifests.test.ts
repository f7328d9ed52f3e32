// Manifests of the breadth of public charts are accepted by kubectl apply, client-side and server-side, and read back as they were written.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { applyEachWay, openServer, storedAnew } from './applying.ts'
import { patient, ROOT } from './kit.ts'
import { testWith } from './programs.ts'

const DIRECTORY = join(ROOT, 'test/manifests')

testWith('kubectl', 'every object of every manifest is accepted and reads back', patient, async (t, program) => {
  const { server, kubectl } = await openServer(t, program)
  const files = readdirSync(DIRECTORY).sort()
  await applyEachWay(kubectl, ...files.map(file => join(DIRECTORY, file)))
  assert.deepEqual(await storedAnew(server), [], 'a replacement by the same value keeps the revision')
})
