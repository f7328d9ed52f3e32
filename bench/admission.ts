/** What admission costs a create: nothing in force, a thousand webhooks or policies that do not match, and one that is called. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { PLUGINS } from '../src/server/admission-plugins.ts'
import { configMap } from './objects.ts'
import { type Load, requestBytes, run, type Target } from './raw-client.ts'
import { cpuSeconds, type Running, startKeelson } from './servers.ts'

export type AdmissionFigures = {
  /** Microseconds of processor time that a create takes without any plugin, and with those that are on by default. */
  readonly without: number
  readonly byDefault: number
  /** What a thousand that do not match add, by what keeps them from it; microseconds. */
  readonly nonMatching: readonly { readonly what: string; readonly adds: number }[]
  /** Creates through one webhook that answers at once, and the p99 of another client's GET without and with them; milliseconds. */
  readonly webhook: { readonly perSecond: number; readonly alone: number; readonly beside: number }
}

const NS = '/api/v1/namespaces/default/configmaps'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const MANY = 1000
const about = (plural: string) => [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [plural] }]
const nowhere = { clientConfig: { url: 'https://127.0.0.1:1/' }, sideEffects: 'None', admissionReviewVersions: ['v1'] }

const webhookConfiguration = (webhooks: readonly object[]) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'bench' },
  webhooks,
})
const manyWebhooks = (make: (i: number) => object) =>
  webhookConfiguration(Array.from({ length: MANY }, (_, i) => ({ name: `w${i}.bench.example.com`, ...nowhere, ...make(i) })))

const NON_MATCHING: readonly (readonly [what: string, (i: number) => object])[] = [
  ['rules', () => ({ rules: about('secrets') })],
  ['namespace selectors', i => ({ rules: about('configmaps'), namespaceSelector: { matchLabels: { team: `t${i}` } } })],
  ['object selectors', i => ({ rules: about('configmaps'), objectSelector: { matchLabels: { app: `a${i}` } } })],
]

export async function admission({ quick }: { readonly quick: boolean }): Promise<AdmissionFigures> {
  const [bare, usual] = [await startKeelson(undefined, ['--disable-admission-plugins', PLUGINS.join(',')]), await startKeelson()]
  const rounds = quick ? 2 : 5
  try {
    const without: number[] = []
    const byDefault: number[] = []
    for (let i = 0; i < rounds; i++) {
      without.push(await microsOfCreate(bare, quick))
      byDefault.push(await microsOfCreate(usual, quick))
    }
    const nonMatching = []
    for (const [what, make] of NON_MATCHING)
      nonMatching.push({ what: `webhooks, ${what}`, adds: await added(usual, { body: manyWebhooks(make), rounds, quick }) })
    return { without: least(without), byDefault: least(byDefault), nonMatching, webhook: await throughWebhook(usual, quick) }
  } finally {
    await Promise.all([bare.stop(), usual.stop()])
  }
}

/** What disturbs the machine adds to processor time, and nothing takes from it. */
const least = (numbers: readonly number[]) => Math.min(...numbers)

let created = 0
const create = () => requestBytes('POST', NS, configMap(`admitted-${++created}`))

async function sent(target: Target, load: Pick<Load, 'request' | 'connections' | 'seconds'> & { readonly requests?: number }) {
  const outcome = await run(target, load)
  if (outcome.failures > 0) throw new Error(`${outcome.failures} of ${outcome.requests} requests failed`)
  return outcome
}

async function microsOfCreate({ target, pid }: Running, quick: boolean): Promise<number> {
  const before = cpuSeconds(pid)
  const { requests } = await sent(target, { request: create, connections: 16, seconds: 60, requests: quick ? 2000 : 6000 })
  return ((cpuSeconds(pid) - before) / requests) * 1e6
}

async function once(target: Target, method: string, path: string, body?: object): Promise<void> {
  await sent(target, { request: () => requestBytes(method, path, body && JSON.stringify(body)), connections: 1, seconds: 60, requests: 1 })
}

/** Microseconds that a configuration adds to a create; measured in turns with and without it. */
async function added(
  server: Running,
  { body, rounds, quick }: { readonly body: object; readonly rounds: number; readonly quick: boolean },
): Promise<number> {
  const [on, off]: [number[], number[]] = [[], []]
  const path = `${ADMISSION}/validatingwebhookconfigurations`
  for (let i = 0; i < rounds; i++) {
    off.push(await microsOfCreate(server, quick))
    await once(server.target, 'POST', path, body)
    on.push(await microsOfCreate(server, quick))
    await once(server.target, 'DELETE', `${path}/bench`)
  }
  return least(on) - least(off)
}

async function throughWebhook({ target }: Running, quick: boolean): Promise<AdmissionFigures['webhook']> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'bench/fast-webhook.ts'], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const { port, ca } = JSON.parse(await firstLine(child)) as { port: number; ca: string }
    const webhook = {
      name: 'fast.bench.example.com',
      ...nowhere,
      clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: ca },
      rules: about('configmaps'),
    }
    await once(target, 'POST', '/api/v1/namespaces/default/secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'read' } })
    await once(target, 'POST', `${ADMISSION}/validatingwebhookconfigurations`, webhookConfiguration([webhook]))
    const seconds = quick ? 2 : 6
    const get = requestBytes('GET', '/api/v1/namespaces/default/secrets/read')
    const reads = () => sent(target, { request: () => get, connections: 1, seconds })
    const { p99: alone } = await reads()
    const [{ perSecond }, { p99: beside }] = await Promise.all([sent(target, { request: create, connections: 32, seconds }), reads()])
    await once(target, 'DELETE', `${ADMISSION}/validatingwebhookconfigurations/bench`)
    return { perSecond, alone, beside }
  } finally {
    child.kill()
  }
}

const firstLine = (child: ChildProcess): Promise<string> => new Promise(resolve => createInterface(child.stdout!).once('line', resolve))
