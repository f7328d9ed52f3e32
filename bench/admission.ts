/** The cost of admission for a create: nothing in force, a thousand webhooks or policies that do not match, and one that is called. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { PLUGINS } from '../src/server/admission/admission-plugins.ts'
import { configMap } from './objects.ts'
import { type Load, requestBytes, run, type Target } from './raw-client.ts'
import { cpuSeconds, type Running, startKeelson } from './servers.ts'

export type AdmissionFigures = {
  /** Microseconds of processor time that a create takes without any plugin, and with those that are on by default. */
  readonly without: number
  readonly byDefault: number
  /** The cost of a thousand that do not match, by the reason why they do not; microseconds. */
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

const NON_MATCHING_POLICIES: readonly (readonly [what: string, (i: number) => object])[] = [
  ['rules', () => ({ resourceRules: about('secrets') })],
  ['namespace selectors', i => ({ resourceRules: about('configmaps'), namespaceSelector: { matchLabels: { team: `t${i}` } } })],
  ['object selectors', i => ({ resourceRules: about('configmaps'), objectSelector: { matchLabels: { app: `a${i}` } } })],
]

export async function admission({ quick }: { readonly quick: boolean }): Promise<AdmissionFigures> {
  const [bare, usual] = [await startKeelson(undefined, ['--disable-admission-plugins', PLUGINS.join(',')]), await startKeelson()]
  const rounds = quick ? 2 : 4
  try {
    const without: number[] = []
    const byDefault: number[] = []
    for (let i = 0; i < rounds; i++) {
      without.push(await microsOfCreate(bare, quick))
      byDefault.push(await microsOfCreate(usual, quick))
    }
    // First, while nothing else has left garbage or work behind.
    const webhook = await throughWebhook(usual, quick)
    const nonMatching = []
    const path = `${ADMISSION}/validatingwebhookconfigurations`
    for (const [what, make] of NON_MATCHING) {
      const put = () => once(usual.target, 'POST', path, manyWebhooks(make))
      nonMatching.push({
        what: `webhooks, ${what}`,
        adds: await added(usual, { put, remove: () => once(usual.target, 'DELETE', `${path}/bench`), rounds, quick }),
      })
    }
    for (const [what, matchConstraints] of NON_MATCHING_POLICIES)
      nonMatching.push({
        what: `policies, ${what}`,
        adds: await added(usual, {
          put: () => putPolicies(usual.target, matchConstraints),
          remove: () => removePolicies(usual.target),
          rounds,
          quick,
        }),
      })
    return { without: least(without), byDefault: least(byDefault), nonMatching, webhook }
  } finally {
    await Promise.all([bare.stop(), usual.stop()])
  }
}

/** Disturbances of the machine only add to processor time. */
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
  const { requests } = await sent(target, { request: create, connections: 16, seconds: 60, requests: quick ? 1000 : 2000 })
  return ((cpuSeconds(pid) - before) / requests) * 1e6
}

async function once(target: Target, method: string, path: string, body?: object): Promise<void> {
  await sent(target, { request: () => requestBytes(method, path, body && JSON.stringify(body)), connections: 1, seconds: 60, requests: 1 })
}

type Adding = { readonly put: () => Promise<void>; readonly remove: () => Promise<void>; readonly rounds: number; readonly quick: boolean }

/** Microseconds that configurations add to a create; measured in turns with and without them. */
async function added(server: Running, { put, remove, rounds, quick }: Adding): Promise<number> {
  const [on, off]: [number[], number[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    off.push(await microsOfCreate(server, quick))
    await put()
    on.push(await microsOfCreate(server, quick))
    await remove()
  }
  return least(on) - least(off)
}

/** Creates very many policies, each with a binding. */
async function putPolicies(target: Target, matchConstraints: (i: number) => object): Promise<void> {
  const send = (plural: string, kind: string, spec: (i: number) => object) =>
    sent(target, {
      request: i =>
        requestBytes(
          'POST',
          `${ADMISSION}/${plural}`,
          JSON.stringify({ apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: `bench-${i}` }, spec: spec(i) }),
        ),
      connections: 8,
      seconds: 60,
      requests: MANY,
    })
  await send('validatingadmissionpolicies', 'ValidatingAdmissionPolicy', i => ({
    matchConstraints: matchConstraints(i),
    validations: [{ expression: 'false' }],
  }))
  await send('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding', i => ({
    policyName: `bench-${i}`,
    validationActions: ['Deny'],
  }))
}

async function removePolicies(target: Target): Promise<void> {
  for (const plural of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
    await once(target, 'DELETE', `${ADMISSION}/${plural}`)
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
    const seconds = quick ? 1 : 3
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
