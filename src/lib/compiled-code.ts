/**
 * The folder in which V8's compiled code is kept between starts. Compiled code runs without being compared with its source, so it is only
 * as trustworthy as its folder: either a folder that only this user can write to, or none. The build turns this file into a bundle of its
 * own, which is loaded before any other (bin/start.js).
 */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isBeyondDoubt, localUser, privateFolder } from './trusted-place.ts'

export { isBeyondDoubt }

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
