/** `keelson check MANIFESTS`: everything the API would say about manifests, without a cluster, with file and line. */
import { UsageError } from '../../flags/usage-error.ts'
import { ManifestError } from '../../library/manifests.ts'
import { ConfigError, DEFAULTS } from '../../server/config.ts'
import type { Server } from '../../server/running-server.ts'
import { startServer } from '../../server/start.ts'
import { applyAtStart } from '../apply.ts'
import { outputOf, readArguments } from '../arguments.ts'
import type { Command } from '../command.ts'
import { Checker } from './checker.ts'
import { type Document, readDocuments, type Unreadable } from './documents.ts'
import { type Finding, jsonOf, sarifOf, textOf } from './findings.ts'

const USAGE = 'keelson check FILE|DIR… [--policies FILE|DIR,…] [--skip-unknown-kinds] [--fail-on error|warning] [--output text|json|sarif]'

/** Something is wrong with the manifests. Other failures exit with 1: nothing was checked. */
const NOT_VALID = 3

export const check: Command = async args => {
  const given = readArguments(args, { flags: ['policies', 'output', 'fail-on'], switches: ['skip-unknown-kinds'], usage: USAGE })
  if (given.rest.length === 0) throw new UsageError(`which manifests? ${USAGE}`)
  const output = outputOf(given, ['text', 'json', 'sarif'])
  const failOn = given.value('fail-on') ?? 'error'
  if (failOn !== 'error' && failOn !== 'warning') throw new UsageError(`--fail-on takes error or warning, not "${failOn}"`)
  const found = documentsAt(given.rest)
  const documents = found.filter((each): each is Document => 'object' in each)
  const unreadable = found.filter((each): each is Unreadable => !('object' in each))
  if (found.length === 0) throw new ConfigError(`there are no manifests in ${given.rest.join(', ')}`)
  await using server = await startAlone()
  await applyAtStart(server, (given.value('policies') ?? '').split(',').filter(Boolean))
  await server.settled()
  const checker = new Checker(server, { skipsUnknownKinds: given.has('skip-unknown-kinds') })
  const findings: Finding[] = [
    ...unreadable.map(
      ({ file, position, message }): Finding => ({ file, ...position, level: 'error', rule: 'Unreadable', object: '', field: '', message }),
    ),
    ...(await checker.check(documents)),
  ].sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1))
  const write = { text: textOf, json: jsonOf, sarif: sarifOf }[output]
  process.stdout.write(write(findings, documents.length))
  return findings.some(({ level }) => level === 'error' || failOn === 'warning') ? NOT_VALID : 0
}

function documentsAt(paths: readonly string[]): ReturnType<typeof readDocuments> {
  try {
    return readDocuments(paths)
  } catch (error) {
    throw error instanceof ManifestError ? new ConfigError(error.message) : error
  }
}

/** A server in memory for this command alone. Quotas need their controller; service accounts are a matter of the cluster. */
function startAlone(): Promise<Server> {
  const config = { store: 'memory', port: 0, controllers: ['resourcequota-controller'], nodes: 0, logLevel: 'silent' } as const
  return startServer({ ...DEFAULTS, ...config, disableAdmissionPlugins: ['ServiceAccount'] })
}
