/**
 * The cost of the audit: processor time of requests with an event of level Metadata for each stage, and of level None. Two users send the
 * same requests to one server in turns: two processes that run the same code differ by several per cent.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { issueClient } from '../src/lib/x509/issue.ts'
import { type Cost, costsByRound, medianCost, type Rounds } from './cost.ts'
import { median } from './numbers.ts'
import { operationsIn, prepare } from './operations.ts'
import { HTTP1, type Protocol, type Target } from './raw-client.ts'
import { HTTP2 } from './raw-http2.ts'
import { newFolder, startKeelson } from './servers.ts'

/** How events reach the log: requests wait until theirs are written, or they do not. */
const MODES = ['blocking', 'batch'] as const
type Mode = (typeof MODES)[number]

/** A request of a user of level None, and one whose events are written to a file. */
export type AuditFigure = {
  readonly name: string
  readonly protocol: Protocol['name']
  readonly mode: Mode
  readonly off: Cost
  readonly on: Cost
  /** The median of the ratios of two rounds that followed each other. */
  readonly ratio: number
}

/** A user like the administrator, in the same group. */
const QUIET_USER = 'quiet'
const POLICY = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'None', users: [QUIET_USER] }, { level: 'Metadata' }] }
const AUDITED = ['GET one object', 'create']

/** Servers of each mode: each compiles its code a little differently. */
const TURNS = 3

export async function audit(quick: boolean): Promise<readonly AuditFigure[]> {
  const turns: (readonly AuditFigure[])[] = []
  for (let i = 0; i < (quick ? 1 : TURNS); i++) turns.push([...(await turn('blocking', quick)), ...(await turn('batch', quick))])
  return turns[0]!.map((figure, at) => ({
    ...figure,
    off: medianCost(turns.map(figures => figures[at]!.off)),
    on: medianCost(turns.map(figures => figures[at]!.on)),
    ratio: median(turns.map(figures => figures[at]!.ratio)),
  }))
}

async function turn(mode: Mode, quick: boolean): Promise<readonly AuditFigure[]> {
  const folder = newFolder()
  const { target, pid, stop } = await startKeelson(folder, ['--controllers=none', ...auditFlags(mode)])
  // Many short rounds: the machine is never the same for long.
  const lengths: Rounds = quick ? { rounds: 3, requests: 500, warmUp: 1000 } : { rounds: 16, requests: 1000, warmUp: 8000 }
  try {
    await prepare(target)
    const measured: AuditFigure[] = []
    for (const protocol of [HTTP1, HTTP2])
      for (const operation of operationsIn(protocol).filter(({ name }) => AUDITED.includes(name))) {
        const sent = [quietUser(folder, target), target].map(user => ({ target: user, pids: [pid], protocol, operation }))
        const [off, on] = (await costsByRound(sent, lengths)) as [readonly Cost[], readonly Cost[]]
        const ratio = median(on.map(({ allMicros }, round) => allMicros / off[round]!.allMicros))
        measured.push({ name: operation.name, protocol: protocol.name, mode, off: medianCost(off), on: medianCost(on), ratio })
      }
    return measured
  } finally {
    await stop()
  }
}

function quietUser(folder: string, target: Target): Target {
  const text = readFileSync(join(folder, 'pki', 'ca.pem'), 'utf8')
  const keyAt = text.indexOf('-----BEGIN PRIVATE KEY')
  const authority = { cert: text.slice(0, keyAt), key: text.slice(keyAt) }
  const [notBefore, notAfter] = [new Date(Date.now() - HOUR), new Date(Date.now() + HOUR)]
  return { ...target, ...issueClient(authority, { commonName: QUIET_USER, organizations: ['system:masters'] }, { notBefore, notAfter }) }
}

const HOUR = 3_600_000

function auditFlags(mode: Mode): readonly string[] {
  const folder = newFolder()
  const policy = join(folder, 'policy.json')
  writeFileSync(policy, JSON.stringify(POLICY))
  return ['--audit-policy-file', policy, '--audit-log-path', join(folder, 'audit.log'), '--audit-log-mode', mode]
}
