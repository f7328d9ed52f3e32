/** Refuses files and folders that are trusted because of where they are, but that any user of the machine could have put there. */
import { chmodSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolders } from '../../lib/folders.ts'
import { keepsModes } from '../../lib/private-files.ts'
import { type Doubt, examinePlace, localUser, type Place } from '../../lib/trusted-place.ts'
import { type Config, ConfigError } from '../config.ts'

/** Called with what certain other users could do, and the path that lets them. */
export type Warn = (message: string, path: string) => void

const NOT_FOR_OTHERS = 0o077

/**
 * Looks at a path that is about to be relied on. Throws ConfigError if anyone could have put there what is there, or changed it. What
 * certain others can do, such as the owner of a volume, is the choice of whoever runs the server: it is said, not refused.
 */
export function trustPlace(path: string, warn: Warn = () => {}): Place {
  let place: Place
  try {
    place = examinePlace(path)
  } catch (error) {
    throw new ConfigError(`${path} cannot be used: ${(error as Error).message}`)
  }
  const doubts = place.doubts.filter(doubt => meansSomething(doubt))
  const [refused] = doubts.filter(({ by }) => by === 'anyone')
  if (refused) throw new ConfigError(refusal(path, refused))
  for (const doubt of doubts) warn(warning(path, doubt), doubt.path)
  return { ...place, doubts }
}

/**
 * Makes the data directory ready: created for its owner alone, or found to be one that nobody could have filled with keys of their
 * own. Keys that others may read are closed to them.
 */
export function prepareDataFolder(dir: string, warn: Warn): void {
  const warned = new Set<string>()
  const warnOnce: Warn = (message, path) => {
    if (!warned.has(path)) warn(message, path)
    warned.add(path)
  }
  closeIfEmpty(dir)
  trustPlace(dir, warnOnce)
  try {
    makeFolders(dir, 0o700)
  } catch {
    // Whoever opens the store in it says what is wrong, and what to do.
    return
  }
  const keys = namesIn(join(dir, 'pki')).map(name => join(dir, 'pki', name))
  const store = namesIn(join(dir, 'store')).map(name => join(dir, 'store', name))
  for (const path of [join(dir, 'pki'), ...keys, join(dir, 'store'), ...store]) {
    const { found } = trustPlace(path, warnOnce)
    if (found && closeToOthers(path, found) && path.endsWith('.pem'))
      warn(`other users could read the key ${path}; they no longer can, but replace it if one may have`, path)
  }
}

/** Says which files that the configuration names could be changed by others. Their place is the administrator's choice, as with kube-apiserver. */
export function warnOfNamedFiles(config: Config, warn: Warn): void {
  for (const file of namedFiles(config)) {
    try {
      for (const doubt of examinePlace(file).doubts) warn(warning(file, doubt), doubt.path)
    } catch {
      // A file that cannot be looked at cannot be read either, and whoever reads it says so.
    }
  }
}

function namedFiles(config: Config): string[] {
  const named = Object.entries(config).flatMap(([setting, value]) => (FILE_SETTING.test(setting) ? [value].flat() : []))
  return [...named, config.oidc.caFile].filter(value => typeof value === 'string')
}
const FILE_SETTING = /([Ff]ile|Files|Config|CertificateAuthority|ClientCertificate|ClientKey)$/

/** Nothing in an empty folder can be from others, so it is made private instead of refused; a umask of 0, as some CI has it, opens every new one. */
function closeIfEmpty(dir: string): void {
  const user = localUser()
  const { found, path } = examinePlace(dir)
  if (!user || !found?.isDirectory() || found.uid !== user.uid || (found.mode & 0o022) === 0 || namesIn(path).length > 0) return
  chmodSync(path, 0o700)
}

/** Whether others had access, which they have no more. */
function closeToOthers(path: string, { uid, mode }: { uid: number; mode: number }): boolean {
  if ((mode & NOT_FOR_OTHERS) === 0 || uid !== localUser()?.uid) return false
  chmodSync(path, mode & 0o700)
  return true
}

/** Where all files show the same mode, the mode says nothing. */
const meansSomething = ({ about, path }: Doubt): boolean => about === 'owner' || keepsModes(dirname(path))

const warning = (path: string, { path: at, problem }: Doubt): string => `others could replace ${path}, by way of ${at}: ${problem}`

const refusal = (path: string, { about, path: at, problem }: Doubt): string =>
  about === 'mode'
    ? `${at} is not used: ${problem}, so anyone could have put files there. Look at what is in it, then run: chmod go-w ${at}`
    : `${path} is not used: ${at === path ? problem : `${at} is in a folder that every user may write to, and ${problem}`}. Choose another place, or remove it`

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
