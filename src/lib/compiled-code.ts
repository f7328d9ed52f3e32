/**
 * Where V8's compiled code is kept between starts. It is run without being compared with its source, so it is as trustworthy as the
 * folder that it is read from: one of this user alone, or none. The build makes a bundle of its own of this file, which is loaded before
 * any other (bin/start.js).
 */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isBeyondDoubt, localUser, privateFolder } from './trusted-place.ts'

export { isBeyondDoubt }

/** A folder for compiled code: beside a bundle, or among this user's caches; undefined where there is no folder that only this user can write to. */
export function compiledCodeFolder(bundles: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  // On Windows nothing tells who may write where, but a profile is its user's.
  const beside = localUser() === undefined ? undefined : privateFolder(join(bundles, 'compiled'))
  return beside ?? amongCaches(env)
}

function amongCaches(env: NodeJS.ProcessEnv): string | undefined {
  try {
    return privateFolder(join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'keelson', 'compiled'))
  } catch {
    // A user without an entry has no home.
    return undefined
  }
}
