// Manifests of the breadth of public charts are accepted by kubectl apply, client-side and server-side, and read back as they were written.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { applyEachWay, openKubectl } from './applying.ts'
import { patient, ROOT } from './kit.ts'

const DIRECTORY = join(ROOT, 'test/manifests')

test('every object of every manifest is accepted and reads back', patient, async t => {
  const kubectl = await openKubectl(t)
  for (const file of readdirSync(DIRECTORY).sort()) await t.test(file, () => applyEachWay(kubectl, join(DIRECTORY, file)))
})
