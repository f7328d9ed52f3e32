/**
 * V8's compiled code of a bundle, kept between starts. Node's own cache (`enableCompileCache`) keeps too little: functions that are
 * compiled when they are first called are not in it, and most are. Compiled code runs without being compared with its source, so it is
 * only as trustworthy as its folder, and its file is named after a digest of the bundle. The build turns this file into a bundle of its
 * own, which is loaded before any other (bin/start.js).
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire, wrap } from 'node:module'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { cachedDataVersionTag } from 'node:v8'
import { Script } from 'node:vm'
import { isBeyondDoubt, localUser, privateFolder, sharedFolder } from './trusted-place.ts'

type Bundle = {
  readonly exports: Record<string, unknown>
  /** Keeps all of its code that is compiled by now; undefined where that was kept before, or cannot be. */
  readonly keep: (() => void) | undefined
}

/** Runs a bundle, with its compiled code where an earlier run has kept it. */
export function runBundle(path: string): Bundle {
  const { script, name, isKept } = load(path)
  const module: { exports: Record<string, unknown> } = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(path), module, path, dirname(path))
  return { exports: module.exports, keep: isKept ? undefined : () => keep(script, path, name) }
}

/** A bundle begins with its digest, in a comment. */
const DIGEST = { at: '/*'.length, length: 16 } as const
const CODE_AT = DIGEST.at + DIGEST.length + '*/'.length
/**
 * V8 refuses code that was compiled under other flags: a run with flags of its own neither loses nor replaces the code of the usual ones.
 */
const FLAGS = cachedDataVersionTag().toString(16)
const ENDING = '.cache'
/** Files that are kept in a folder for bundles of one name: of several builds, versions of Node and sets of flags. */
const MAX_FILES = 8

const namePrefix = (path: string) => `${basename(path, '.cjs')}-`

/** The script of a bundle. The bytes are gone with this call, and garbage of the next small collection: they would make large ones earlier. */
function load(path: string): { readonly script: Script; readonly name: string; readonly isKept: boolean } {
  const bundle = openSync(path, 'r')
  const digest = Buffer.alloc(DIGEST.length)
  readSync(bundle, digest, 0, DIGEST.length, DIGEST.at)
  const name = `${namePrefix(path)}${digest.toString('latin1')}.${process.version}-${process.arch}-${FLAGS}${ENDING}`
  const kept = openKept(path, name)
  // One after the other in the same memory: to touch new memory takes as long as to read a file into it.
  const bytes = Buffer.allocUnsafeSlow(Math.max(sizeOf(bundle), kept ? sizeOf(kept.file) : 0))
  // A text that is read as UTF-8 is a value of V8's own, in one piece; one of another encoding would be copied once more.
  const text = readAndClose(bundle, bytes).toString()
  const source = text.startsWith('(', CODE_AT) ? text : wrap(text)
  const script = new Script(source, { filename: path, ...(kept && { cachedData: readAndClose(kept.file, bytes) }) })
  const isKept = script.cachedDataRejected === false
  if (kept && isKept) markAsUsed(kept.path)
  return { script, name, isKept }
}

function openKept(path: string, name: string): { readonly path: string; readonly file: number } | undefined {
  for (const folder of foldersFor(path)) {
    const kept = join(folder, name)
    try {
      if (isBeyondDoubt(kept)) return { path: kept, file: openSync(kept, 'r') }
    } catch {
      // Readable by its owner alone.
    }
  }
  return undefined
}

const sizeOf = (file: number) => fstatSync(file).size

function readAndClose(file: number, into: Buffer): Buffer {
  const size = sizeOf(file)
  let at = 0
  while (at < size) {
    const count = readSync(file, into, at, size - at, at)
    if (count === 0) break
    at += count
  }
  closeSync(file)
  return into.subarray(0, at)
}

function markAsUsed(file: string): void {
  try {
    utimesSync(file, new Date(), new Date())
  } catch {
    // The file of another user, which only its owner would remove as well.
  }
}

/** Where every folder could be changed by others, or none may be written to, each start compiles anew. */
function keep(script: Script, path: string, name: string): void {
  const code = script.createCachedData()
  const folders = foldersFor(path)
  // The folder beside the bundle is for all who run it, a cache for its user.
  const make = (folder: string) => (folder === besideOf(path) ? sharedFolder(folder) : privateFolder(folder))
  folders.some(folder => {
    const made = make(folder)
    return made !== undefined && write(made, name, code, namePrefix(path))
  })
}

function write(folder: string, name: string, code: Buffer, prefix: string): boolean {
  // Threads of a process have the same number.
  const draft = join(folder, `${name}.${process.pid}-${Math.random().toString(36).slice(2)}`)
  try {
    rmSync(draft, { force: true })
    writeFileSync(draft, code, { flag: 'wx', mode: 0o644 })
    renameSync(draft, join(folder, name))
  } catch {
    return false
  }
  removeUnused(folder, prefix)
  return true
}

/** Removes files of older builds and of rare flags. */
function removeUnused(folder: string, prefix: string): void {
  try {
    const files = readdirSync(folder).filter(name => name.startsWith(prefix) && name.endsWith(ENDING))
    const lastUsedFirst = files.map(name => join(folder, name)).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
    for (const unused of lastUsedFirst.slice(MAX_FILES)) rmSync(unused, { force: true })
  } catch {
    // Another process has just done it.
  }
}

const besideOf = (path: string) => join(dirname(path), 'compiled')

/** The folders that compiled code may be in: beside the bundle, and among this user's caches. */
function foldersFor(path: string): readonly string[] {
  const folders: string[] = []
  // Windows shows no file modes, but a profile belongs to its user.
  if (localUser()) folders.push(besideOf(path))
  try {
    folders.push(join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'keelson', 'compiled'))
  } catch {
    // A user without a passwd entry has no home.
  }
  return folders
}
