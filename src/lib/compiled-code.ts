/**
 * V8's compiled code of a bundle, kept between starts. Compiled code runs without being compared with its source, so it is only as
 * trustworthy as its folder: either a folder that only this user can write to, or none. The build turns this file into a bundle of its
 * own, which is loaded before any other (bin/start.js).
 */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire, wrap } from 'node:module'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { cachedDataVersionTag } from 'node:v8'
import { Script } from 'node:vm'
import { threadId } from 'node:worker_threads'
import { isBeyondDoubt, localUser, privateFolder } from './trusted-place.ts'

/** A folder for compiled code: beside a bundle, or among this user's caches; undefined where no folder is writable by this user alone. */
export function compiledCodeFolder(bundles: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  // Windows shows no file modes, but a profile belongs to its user.
  const beside = localUser() === undefined ? undefined : privateFolder(join(bundles, 'compiled'))
  return beside ?? amongCaches(env)
}

function amongCaches(env: NodeJS.ProcessEnv): string | undefined {
  try {
    return privateFolder(join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'keelson', 'compiled'))
  } catch {
    // A user without a passwd entry has no home.
    return undefined
  }
}

const ENDING = '.cache'
/** Files that are kept for one bundle: each version of Node and each set of V8's flags needs its own. */
const MAX_FILES = 4

type Bundle = {
  readonly exports: Record<string, unknown>
  /** Keeps all of its code that is compiled by now; undefined where that was kept before, or cannot be. */
  readonly keep: (() => void) | undefined
}

/**
 * Runs a bundle with its compiled code from a file that begins with `stem`, where there is one. V8 refuses code of another version or
 * of other flags, so the file is named after both: a run with flags of its own neither loses nor replaces the code of the usual ones.
 */
export function runBundle(path: string, stem: string | undefined): Bundle {
  const file = stem && `${stem}.${process.version}-${process.arch}-${cachedDataVersionTag().toString(16)}${ENDING}`
  const cachedData = file && kept(file)
  // The build writes it in ASCII, which is read faster.
  const script = new Script(wrap(readFileSync(path, 'latin1')), { filename: path, ...(cachedData && { cachedData }) })
  const module: { exports: Record<string, unknown> } = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(path), module, path, dirname(path))
  if (!stem || !file) return { exports: module.exports, keep: undefined }
  if (script.cachedDataRejected !== false) return { exports: module.exports, keep: () => keep(script, file, stem) }
  markAsUsed(file)
  return { exports: module.exports, keep: undefined }
}

function kept(file: string): Buffer | undefined {
  try {
    return isBeyondDoubt(file) ? readFileSync(file) : undefined
  } catch {
    return undefined
  }
}

function markAsUsed(file: string): void {
  try {
    utimesSync(file, new Date(), new Date())
  } catch {
    // The file of another user, which only its owner would remove as well.
  }
}

/** Where the folder may not be written to, every start compiles anew. */
function keep(script: Script, file: string, stem: string): void {
  const folder = dirname(file)
  const draft = `${file}.${process.pid}-${threadId}`
  try {
    if (!isBeyondDoubt(folder)) return
    rmSync(draft, { force: true })
    writeFileSync(draft, script.createCachedData(), { flag: 'wx', mode: 0o644 })
    renameSync(draft, file)
    const others = readdirSync(folder).filter(name => name.startsWith(`${basename(stem)}.`) && name.endsWith(ENDING))
    const lastUsedFirst = others.map(name => join(folder, name)).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
    for (const unused of lastUsedFirst.slice(MAX_FILES)) rmSync(unused, { force: true })
  } catch {}
}
