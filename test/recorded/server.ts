/** A fresh Keelson for the recorded cases: with the user and the features of the recorded kube-apiserver. */
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
  // Writes of controllers would appear in lists and watches.
  const flags = ['--controllers=none', `--feature-gates=${gates}`, '--token-auth-file', tokens]
  const { kubeconfig } = await startProcess(scope, { flags })
  const connection = connect(kubeconfig, TOKEN)
  scope.after(() => connection.close())
  return connection
}
