/** A fresh Keelson for the recorded cases: with the user, and the features, that kube-apiserver had when they were recorded. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Scope, startProcess, temporaryDirectory } from '../kit.ts'
import { type Connection, connect } from './replay.ts'

const TOKEN = 'recorded'
const FEATURES = ['ShardedListAndWatch', 'DRADerivedAttributes', 'DRAListTypeAttributes']

export async function startRecordedServer(scope: Scope): Promise<Connection> {
  const tokens = join(temporaryDirectory(scope), 'tokens.csv')
  writeFileSync(tokens, `${TOKEN},admin,u-admin,"system:masters"\n`)
  const gates = FEATURES.map(name => `${name}=true`).join(',')
  // What controllers write would be among what is listed and watched.
  const flags = ['--controllers=none', `--feature-gates=${gates}`, '--token-auth-file', tokens]
  const { kubeconfig } = await startProcess(scope, { flags })
  const connection = connect(kubeconfig, TOKEN)
  scope.after(() => connection.close())
  return connection
}
