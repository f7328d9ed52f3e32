/** `keelson kubectl …`: runs the kubectl on the PATH for the server of a data directory. */
import { readFlags } from '../flags/read-flags.ts'
import { ConfigError } from '../server/config.ts'
import { startChild } from './child.ts'
import type { Command } from './command.ts'
import { readAccess } from './kubeconfig.ts'

export const kubectl: Command = async args => {
  const own = ownFlags(args)
  const config = readFlags(own)
  readAccess(config)
  const child = startChild('kubectl', args.slice(own.length), { KUBECONFIG: config.kubeconfig! })
  return await child.exited.catch(error => {
    throw new ConfigError(`${error.message}: keelson kubectl runs the one that is installed`)
  })
}

/** Our own flags, before all arguments of kubectl; they select the server. */
function ownFlags(args: readonly string[]): readonly string[] {
  const [first = ''] = args
  if (first === '--data-dir') return args.slice(0, 2)
  return first.startsWith('--data-dir=') ? args.slice(0, 1) : []
}
