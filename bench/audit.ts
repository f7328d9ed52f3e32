/** The cost of the audit: processor time of requests with an event of level Metadata for each, and without, measured in turns. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cost, costsByRound, medianCost, type Rounds } from './cost.ts'
import { median } from './numbers.ts'
import { operationsIn, prepare } from './operations.ts'
import { HTTP1, type Protocol } from './raw-client.ts'
import { HTTP2 } from './raw-http2.ts'
import { newFolder, startKeelson } from './servers.ts'

/** A request without an audit, and with one that is written to a file. */
export type AuditFigure = {
  readonly name: string
  readonly protocol: Protocol['name']
  readonly off: Cost
  readonly on: Cost
  /** The median of the ratios of two rounds that followed each other. */
  readonly ratio: number
}

const POLICY = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }
const AUDITED = ['GET one object', 'create']

/** Servers with an audit, and as many without: two processes that run the same code differ by several per cent. */
const PAIRS = 5

export async function audit(quick: boolean): Promise<readonly AuditFigure[]> {
  const pairs: (readonly AuditFigure[])[] = []
  for (let i = 0; i < (quick ? 1 : PAIRS); i++) pairs.push(await pair(quick))
  return pairs[0]!.map((figure, at) => ({
    ...figure,
    off: medianCost(pairs.map(figures => figures[at]!.off)),
    on: medianCost(pairs.map(figures => figures[at]!.on)),
    ratio: median(pairs.map(figures => figures[at]!.ratio)),
  }))
}

async function pair(quick: boolean): Promise<readonly AuditFigure[]> {
  const folder = newFolder()
  const [dir, policy] = [join(folder, 'data'), join(folder, 'policy.json')]
  const quiet = ['--controllers=none']
  const off = await startKeelson(newFolder(), quiet)
  writeFileSync(policy, JSON.stringify(POLICY))
  const on = await startKeelson(dir, [...quiet, '--audit-policy-file', policy, '--audit-log-path', join(folder, 'audit.log')])
  const servers = [off, on]
  // Many short rounds: the machine is never the same for long.
  const lengths: Rounds = quick ? { rounds: 3, requests: 500, warmUp: 1000 } : { rounds: 15, requests: 1000, warmUp: 8000 }
  try {
    for (const { target } of servers) await prepare(target)
    const measured: AuditFigure[] = []
    for (const protocol of [HTTP1, HTTP2])
      for (const operation of operationsIn(protocol).filter(({ name }) => AUDITED.includes(name))) {
        const sent = servers.map(({ target, pid }) => ({ target, pids: [pid], protocol, operation }))
        const [without, audited] = (await costsByRound(sent, lengths)) as [readonly Cost[], readonly Cost[]]
        const ratio = median(audited.map(({ allMicros }, i) => allMicros / without[i]!.allMicros))
        measured.push({ name: operation.name, protocol: protocol.name, off: medianCost(without), on: medianCost(audited), ratio })
      }
    return measured
  } finally {
    await Promise.all(servers.map(server => server.stop()))
  }
}
