/** Refuses files and folders that are trusted because of their place, but that any user of the machine could have put there. */
import { chmodSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolders } from '../../lib/folders.ts'
import { keepsModes } from '../../lib/private-files.ts'
import { readNamedPair } from '../../lib/tls-settings.ts'
import { type Doubt, examinePlace, localUser, type Place } from '../../lib/trusted-place.ts'
import { type Config, ConfigError } from '../config.ts'

/** Called with the rights of certain other users, and the path that grants them. */
export type Warn = (message: string, path: string) => void

const NOT_FOR_OTHERS = 0o077

/**
 * Checks a path before it is relied on. Throws ConfigError if anyone could have created or changed its contents. The rights of
 * certain others, such as the owner of a volume, are the operator's choice: they are reported, not refused.
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
 * Prepares the data directory: created for its owner alone, or checked to be one that no other user could have filled with keys of their
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
    // Opening the store in it reports the problem, and the remedy.
    return
  }
  const keys = namesIn(join(dir, 'pki')).map(name => join(dir, 'pki', name))
  const store = namesIn(join(dir, 'store')).map(name => join(dir, 'store', name))
  for (const path of [join(dir, 'pki'), ...keys, join(dir, 'store'), ...store]) {
    const { found } = trustPlace(path, warnOnce)
    if (found && closeToOthers(path, found) && KEY_FILE.test(path))
      warn(`other users could read the key ${path}; they no longer can, but replace it if one may have`, path)
  }
}

/** Names of files with private keys in the data directory. */
const KEY_FILE = /\.(pem|yaml)$/

/** Reports configured files that others could change. Their place is the administrator's choice, as in kube-apiserver. */
export function warnOfNamedFiles(config: Config, warn: Warn): void {
  for (const file of namedFiles(config)) {
    try {
      for (const doubt of examinePlace(file).doubts) warn(warning(file, doubt), doubt.path)
    } catch {
      // A file that cannot be examined cannot be read either, and its reader reports that.
    }
  }
}

function namedFiles(config: Config): string[] {
  const named = Object.entries(config).flatMap(([setting, value]) =>
    FILE_SETTING.test(setting) && setting !== SERVED ? [value].flat() : [],
  )
  const pairs = config.tlsSniCertKeys.map(readNamedPair).flatMap(({ certFile, keyFile }) => [certFile, keyFile])
  return [...named, ...pairs, config.oidc.caFile].filter(value => typeof value === 'string')
}
/** A setting whose name ends as if it named a file: it says which versions are served. */
const SERVED: keyof Config = 'runtimeConfig'
const FILE_SETTING = /([Ff]ile|Files|Config|CertificateAuthority|ClientCertificate|ClientKey)$/

/** An empty folder holds nothing of others, so it is made private instead of refused; a umask of 0, as in some CI, opens every new one. */
function closeIfEmpty(dir: string): void {
  const user = localUser()
  const { found, path } = examinePlace(dir)
  if (!user || !found?.isDirectory() || found.uid !== user.uid || (found.mode & 0o022) === 0 || namesIn(path).length > 0) return
  chmodSync(path, 0o700)
}

/** Removes the access of others. Returns whether they had any. */
function closeToOthers(path: string, { uid, mode }: { uid: number; mode: number }): boolean {
  if ((mode & NOT_FOR_OTHERS) === 0 || uid !== localUser()?.uid) return false
  chmodSync(path, mode & 0o700)
  return true
}

/** Where all files show the same mode, the mode has no meaning. */
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
