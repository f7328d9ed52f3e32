/** `keelson kubeconfig`: prints the kubeconfig of a server, for its admin or for another user. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml } from '../codec/yaml.ts'
import { readFlags } from '../flags/read-flags.ts'
import { UsageError } from '../flags/usage-error.ts'
import { isObject } from '../lib/json-value.ts'
import { type Config, ConfigError } from '../server/config.ts'
import { type Access, accessIn, kubeconfigText } from '../server/credentials/kubeconfig.ts'
import { certify, loadPki } from '../server/credentials/pki.ts'
import { trustPlace } from '../server/files/trusted-files.ts'
import type { Command } from './command.ts'

export const kubeconfig: Command = async args => {
  const { user, groups, flags } = readUser(args)
  const config = readFlags(flags)
  const access = readAccess(config)
  process.stdout.write(kubeconfigText(user === undefined ? access : { ...access, ...certificateFor(user, groups, config) }))
  return 0
}

/**
 * URL and admin credentials of a server, from the kubeconfig that it has written. Other contexts in that file are ignored. Throws
 * ConfigError, also for a file that another user could have created.
 */
export function readAccess({
  kubeconfig: file = '',
  dataDir,
  contextName,
}: Pick<Config, 'kubeconfig' | 'dataDir' | 'contextName'>): Access {
  trustPlace(file)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    throw new ConfigError(`${file} does not exist; it is written when a server starts: keelson serve --data-dir ${dataDir}`)
  }
  const { value } = parseYaml(text)
  const access = isObject(value) ? accessIn(value, contextName) : undefined
  if (!access) throw new ConfigError(`${file} has no context ${contextName} that a server has written; --context-name names another`)
  return access
}

/** `--user NAME` and any number of `--group NAME`; the other flags select the server. */
function readUser(args: readonly string[]) {
  const flags: string[] = []
  const groups: string[] = []
  let user: string | undefined
  for (let i = 0; i < args.length; i++) {
    const [, name, inline] = /^--(user|group)(?:=(.*))?$/.exec(args[i]!) ?? []
    if (name === undefined) {
      flags.push(args[i]!)
      continue
    }
    const value = inline ?? args[++i] ?? ''
    if (value === '' || value.startsWith('--')) throw new UsageError(`--${name} needs a name: keelson kubeconfig --user bob --group dev`)
    if (name === 'user') user = value
    else groups.push(...value.split(','))
  }
  if (user === undefined && groups.length > 0) throw new UsageError('--group needs a --user: keelson kubeconfig --user bob --group dev')
  return { user, groups, flags }
}

/** A certificate issued by the server's own authority; anybody who can read its key can issue one. */
function certificateFor(user: string, groups: readonly string[], { dataDir }: Config): Pick<Access, 'cert' | 'key'> {
  if (!existsSync(join(dataDir, 'pki', 'ca.pem')))
    throw new ConfigError(
      `${dataDir} has no certificate authority to issue a certificate for ${user}: servers on etcd and in memory keep theirs elsewhere; create a CertificateSigningRequest, or a token with kubectl create token`,
    )
  const now = new Date()
  return certify(loadPki({ directory: dataDir, names: [], now }), { commonName: user, organizations: groups }, now)
}
