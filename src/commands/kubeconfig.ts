/** `keelson kubeconfig`: prints the kubeconfig that a server has written. */
import { readFileSync } from 'node:fs'
import { readFlags } from '../flags/read-flags.ts'
import { ConfigError } from '../server/config.ts'
import type { Command } from './command.ts'

export const kubeconfig: Command = async args => {
  const { dataDir, kubeconfig: file } = readFlags(args)
  process.stdout.write(readKubeconfig(file!, dataDir))
  return 0
}

/** The text of a kubeconfig that a server has written; throws ConfigError when there is none. */
export function readKubeconfig(file: string, dataDir: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw new ConfigError(`${file} is not there; it is written when a server starts: keelson serve --data-dir ${dataDir}`)
  }
}
