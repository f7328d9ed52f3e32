/**
 * Native code inside of the single executable. The system loads it from files alone, so it is written to a folder that only this user can
 * write to, and used from there later: only after its content was compared with the digest that the executable has of it.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isBeyondDoubt, privateFolder } from './trusted-place.ts'

export type PackedAddon = { readonly name: string; readonly bytes: () => Uint8Array; readonly digest: string }

/** Loads it; resolves with its exports. */
export function loadAddon(addon: PackedAddon): unknown {
  const kept = keptFile(addon)
  if (kept !== undefined) return loaded(kept)
  // Without a folder for caches it is written anew for each process; the system needs the file only while it loads it.
  const folder = mkdtempSync(join(tmpdir(), 'keelson-'))
  try {
    const file = join(folder, addon.name)
    writeFileSync(file, addon.bytes(), { mode: 0o700 })
    return loaded(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function loaded(file: string): unknown {
  const module = { exports: {} }
  process.dlopen(module, file)
  return module.exports
}

/** The file among this user's caches, written if it is missing or damaged; undefined where there can be none. */
function keptFile({ name, bytes, digest }: PackedAddon): string | undefined {
  const folder = cacheFolder()
  if (folder === undefined) return undefined
  const file = join(folder, `${digest.slice(0, 16)}-${name}`)
  if (isIntact(file, digest)) return file
  const draft = `${file}.${process.pid}`
  try {
    rmSync(draft, { force: true })
    writeFileSync(draft, bytes(), { flag: 'wx', mode: 0o700 })
    renameSync(draft, file)
    return file
  } catch {
    rmSync(draft, { force: true })
    return undefined
  }
}

function isIntact(file: string, digest: string): boolean {
  try {
    return isBeyondDoubt(file) && createHash('sha256').update(readFileSync(file)).digest('hex') === digest
  } catch {
    return false
  }
}

function cacheFolder(): string | undefined {
  try {
    return privateFolder(join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'keelson', 'executable'))
  } catch {
    // A user without a passwd entry has no home.
    return undefined
  }
}
