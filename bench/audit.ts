/** The cost of the audit: processor time of requests with an event of level Metadata for each, and without, measured in turns. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cost, costsByRound, medianCost, type Rounds } from './cost.ts'
import { median } from './numbers.ts'
import { operationsIn, prepare } from './operations.ts'
import { HTTP1, type Protocol } from './raw-client.ts'
import { HTTP2 } from './raw-http2.ts'
import { newFolder, startKeelson } from './servers.ts'

/** How events reach the log: requests wait until theirs are written, or they do not. */
const MODES = ['blocking', 'batch'] as const
type Mode = (typeof MODES)[number]

/** A request without an audit, and with one that is written to a file. */
export type AuditFigure = {
  readonly name: string
  readonly protocol: Protocol['name']
  readonly mode: Mode
  readonly off: Cost
  readonly on: Cost
  /** The median of the ratios of two rounds that followed each other. */
  readonly ratio: number
}

const POLICY = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }
const AUDITED = ['GET one object', 'create']

/** Servers without an audit, and as many in each mode: two processes that run the same code differ by several per cent. */
const TURNS = 5

export async function audit(quick: boolean): Promise<readonly AuditFigure[]> {
  const turns: (readonly AuditFigure[])[] = []
  for (let i = 0; i < (quick ? 1 : TURNS); i++) turns.push(await turn(quick))
  return turns[0]!.map((figure, at) => ({
    ...figure,
    off: medianCost(turns.map(figures => figures[at]!.off)),
    on: medianCost(turns.map(figures => figures[at]!.on)),
    ratio: median(turns.map(figures => figures[at]!.ratio)),
  }))
}

async function turn(quick: boolean): Promise<readonly AuditFigure[]> {
  const quiet = ['--controllers=none']
  const servers = [await startKeelson(newFolder(), quiet)]
  for (const mode of MODES) servers.push(await startKeelson(newFolder(), [...quiet, ...auditFlags(mode)]))
  // Many short rounds: the machine is never the same for long.
  const lengths: Rounds = quick ? { rounds: 3, requests: 500, warmUp: 1000 } : { rounds: 15, requests: 1000, warmUp: 8000 }
  try {
    for (const { target } of servers) await prepare(target)
    const measured: AuditFigure[] = []
    for (const protocol of [HTTP1, HTTP2])
      for (const operation of operationsIn(protocol).filter(({ name }) => AUDITED.includes(name))) {
        const sent = servers.map(({ target, pid }) => ({ target, pids: [pid], protocol, operation }))
        const [without, ...audited] = (await costsByRound(sent, lengths)) as [readonly Cost[], ...(readonly Cost[])[]]
        for (const [i, mode] of MODES.entries()) {
          const ratio = median(audited[i]!.map(({ allMicros }, round) => allMicros / without[round]!.allMicros))
          const [off, on] = [medianCost(without), medianCost(audited[i]!)]
          measured.push({ name: operation.name, protocol: protocol.name, mode, off, on, ratio })
        }
      }
    return measured
  } finally {
    await Promise.all(servers.map(server => server.stop()))
  }
}

function auditFlags(mode: Mode): readonly string[] {
  const folder = newFolder()
  const policy = join(folder, 'policy.json')
  writeFileSync(policy, JSON.stringify(POLICY))
  return ['--audit-policy-file', policy, '--audit-log-path', join(folder, 'audit.log'), '--audit-log-mode', mode]
}
