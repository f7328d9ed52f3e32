/** Replays recorded cases against a server and compares its responses. */
import { readFileSync } from 'node:fs'
import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import type { AllowedWording, Case, Outcome, Step } from './case.ts'
import { type Differences, differencesOf } from './differences.ts'
import { outcomeOf, type Received, valueAt } from './outcome.ts'

const NO_ANSWER_MS = 20_000

/** A server and its credentials. */
export type Connection = {
  readonly url: URL
  readonly options: RequestOptions
  readonly token?: string
  close(): void
}

/** The result of one compared step. */
export type StepResult = Differences & { readonly file: string; readonly name: string; readonly step: number; readonly request: string }

/** Connects as the current context of a kubeconfig, or with a token instead of its user. */
export function connect(kubeconfigFile: string, token?: string): Connection {
  const config = parse(readFileSync(kubeconfigFile, 'utf8'))
  const named = (list: any[] = [], name: string) => list.find(entry => entry.name === name)
  const context = (named(config.contexts, config['current-context']) ?? config.contexts?.[0])?.context
  const cluster = named(config.clusters, context?.cluster)?.cluster
  const user = named(config.users, context?.user)?.user ?? {}
  if (!cluster) throw new Error(`${kubeconfigFile} has no context with a cluster`)
  // Files are named relative to the kubeconfig.
  const pem = (holder: any, field: string): Buffer | undefined => {
    if (holder[`${field}-data`]) return Buffer.from(holder[`${field}-data`], 'base64')
    return holder[field] ? readFileSync(resolve(dirname(kubeconfigFile), holder[field])) : undefined
  }
  const url = new URL(cluster.server)
  const certificate = token === undefined ? { cert: pem(user, 'client-certificate'), key: pem(user, 'client-key') } : {}
  const tls = { ca: pem(cluster, 'certificate-authority'), rejectUnauthorized: !cluster['insecure-skip-tls-verify'], ...certificate }
  const agent = url.protocol === 'https:' ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true })
  const bearer = token ?? user.token
  return { url, options: { agent }, ...(bearer && { token: bearer }), close: () => agent.destroy() }
}

/** Replays a case; one result for each compared step. */
export async function replay(server: Connection, { file, name, steps }: Case, allowed: readonly AllowedWording[]): Promise<StepResult[]> {
  const saved = new Map<string, string>()
  const results: StepResult[] = []
  const receive = ({ step, i }: Numbered, received: Received) => {
    for (const [key, path] of Object.entries(step.save ?? {})) saved.set(key, String(valueAt(jsonOf(received.text), path) ?? ''))
    if (!step.expect || step.check === false) return
    // Undefined values are absent in the recording.
    const got: Outcome = JSON.parse(JSON.stringify(outcomeOf(step, received)))
    results.push({ file, name, step: i, request: `${step.method ?? 'GET'} ${step.path}`, ...differencesOf(step.expect, got, allowed) })
  }
  for (const group of groupsOf(steps)) {
    const answers = await Promise.all(group.map(({ step }) => send(server, step, saved)))
    for (const [i, answer] of answers.entries()) receive(group[i]!, answer)
  }
  return results
}

type Numbered = { readonly step: Step; readonly i: number }

/** The steps in order; watches that follow each other are one group, since each ends by its own timeout and changes nothing. */
function groupsOf(steps: readonly Step[]): Numbered[][] {
  const groups: Numbered[][] = []
  for (const [i, step] of steps.entries()) {
    if (step.watch && steps[i - 1]?.watch) groups.at(-1)!.push({ step, i })
    else groups.push([{ step, i }])
  }
  return groups
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Sends the request of a step. A missing response has code 0. */
function send({ url, options, token }: Connection, step: Step, saved: ReadonlyMap<string, string>): Promise<Received> {
  const filled = (text: string) => text.replace(/\$\{(\w+)\}/g, (whole, key) => saved.get(key) ?? whole)
  const content = step.raw ?? (step.body === undefined ? undefined : JSON.stringify(step.body))
  const body = content === undefined ? undefined : Buffer.from(filled(content))
  const headers = withoutNull({
    accept: 'application/json',
    'user-agent': 'parity/1',
    ...(token && { authorization: `Bearer ${token}` }),
    ...(body && { 'content-type': step.type ?? 'application/json', 'content-length': String(body.length) }),
    ...step.headers,
  })
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise(resolve => {
    const failed = ({ message }: Error) => resolve({ code: 0, headers: {}, text: message })
    const place = { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port }
    const sent = request(
      { ...options, ...place, method: step.method ?? 'GET', path: filled(step.path), headers, timeout: NO_ANSWER_MS },
      answer => {
        const parts: Buffer[] = []
        answer.on('data', part => parts.push(part)).on('error', failed)
        answer.on('end', () => resolve({ code: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(parts).toString() }))
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`no answer in ${NO_ANSWER_MS / 1000} s`)))
    sent.on('error', failed)
    sent.end(body)
  })
}

const withoutNull = (headers: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null))
