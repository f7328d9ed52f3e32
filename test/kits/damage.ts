/** Damages a store at rest. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Flips a bit of every copy of some text in the database of a data directory. */
export function damageData(dataDir: string, needle: string): void {
  const file = join(dataDir, 'store', 'keelson.lmdb')
  const content = readFileSync(file)
  let found = 0
  for (let at = content.indexOf(needle); at >= 0; at = content.indexOf(needle, at + 1), found++) content[at + needle.length - 1]! ^= 1
  assert.ok(found > 0, `${needle} is in the database`)
  writeFileSync(file, content)
}
