/** Sends manifests to a server and collects everything it says about them. */

import { isObject, type JsonObject } from '../../lib/json-value.ts'
import { rankOf } from '../../library/apply.ts'
import { type Fetch, fetchAs } from '../../library/fetch.ts'
import { isExpected } from '../../library/object-reference.ts'
import { collectionPath, type Resource } from '../../schema/resource.ts'
import type { Server } from '../../server/running-server.ts'
import type { Document } from './documents.ts'
import type { Finding } from './findings.ts'

type Status = {
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly causes?: readonly { readonly field?: string; readonly message?: string }[] }
}

type Answer = { readonly status: number; readonly body: Status; readonly warnings: readonly string[] }

/** A finding before its place is known. */
type Problem = Pick<Finding, 'level' | 'rule' | 'field' | 'message'>

export class Checker {
  readonly #client: Server['client']
  readonly #fetch: Fetch
  readonly #skipsUnknownKinds: boolean
  /** The place of each object that was created. */
  readonly #created = new Map<string, Document>()

  constructor(server: Server, { skipsUnknownKinds }: { readonly skipsUnknownKinds: boolean }) {
    this.#client = server.client
    this.#fetch = fetchAs(server.url, () => server.credentials)
    this.#skipsUnknownKinds = skipsUnknownKinds
  }

  /** Objects are created, so that quotas add up and custom kinds are known. Namespaces that no manifest defines are taken as given. */
  async check(documents: readonly Document[]): Promise<Finding[]> {
    const ordered = [...documents].sort((a, b) => this.#rank(a) - this.#rank(b))
    await this.#createNamespaces(documents)
    const findings: Finding[] = []
    for (const document of ordered) for (const problem of await this.#problemsOf(document)) findings.push(locate(document, problem))
    return findings
  }

  async #createNamespaces(documents: readonly Document[]): Promise<void> {
    const defined = new Set(documents.filter(each => this.#rank(each) === 0).map(({ object }) => metadataOf(object)['name']))
    for (const namespace of new Set(documents.map(({ object }) => metadataOf(object)['namespace'])))
      if (typeof namespace === 'string' && !defined.has(namespace))
        await this.#send('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  }

  #rank({ object }: Document): number {
    return rankOf(this.#client, object)
  }

  async #problemsOf(document: Document): Promise<Problem[]> {
    const { object } = document
    const [apiVersion, kind] = [String(object['apiVersion']), String(object['kind'])]
    const resource = await this.#served(apiVersion, kind)
    if (!resource) {
      const message = `no kind ${kind} is served in ${apiVersion}; for a custom kind, check its CustomResourceDefinition together with it`
      return this.#skipsUnknownKinds ? [] : [{ level: 'error', rule: 'UnknownKind', field: 'kind', message }]
    }
    const place = collectionPath(resource, namespaceOf(object))
    const key = `${place} ${metadataOf(object)['name']}`
    const strict = await this.#send('POST', `${place}?fieldValidation=Strict`, object)
    const unknown = strictProblems(strict.body.message ?? '')
    // Strict decoding hides everything that would be said later.
    const answer = unknown.length > 0 ? await this.#send('POST', `${place}?fieldValidation=Ignore`, object) : strict
    const warnings = answer.warnings.map(warningProblem)
    if (answer.status < 300) this.#created.set(key, document)
    if (answer.body.reason === 'AlreadyExists') return [...unknown, ...(await this.#existing(object, place, key))]
    return [...unknown, ...(answer.status < 300 ? [] : problemsIn(answer)), ...warnings]
  }

  /** An object that is in the manifests twice, or one that every cluster has. */
  async #existing(object: JsonObject, place: string, key: string): Promise<Problem[]> {
    const first = this.#created.get(key)
    if (first) {
      const message = `the same object is at ${first.file}:${first.at('').line}`
      return [{ level: 'error', rule: 'AlreadyExists', field: 'metadata.name', message }]
    }
    const path = `${place}/${metadataOf(object)['name']}?fieldManager=keelson&force=true`
    const answer = await this.#send('PATCH', path, object, 'application/apply-patch+yaml')
    return [...(answer.status < 300 ? [] : problemsIn(answer)), ...answer.warnings.map(warningProblem)]
  }

  /** Waits for a custom kind whose definition was created before. */
  async #served(apiVersion: string, kind: string): Promise<Resource | undefined> {
    for (;;) {
      const found = this.#client.ofKind(apiVersion, kind)?.resource
      if (found || !isExpected(this.#client, apiVersion, kind)) return found
      await new Promise(resolve => setTimeout(resolve, 1))
    }
  }

  async #send(method: string, path: string, object: object, type = 'application/json'): Promise<Answer> {
    const response = await this.#fetch(path, { method, headers: { 'content-type': type }, body: JSON.stringify(object) })
    const texts = (response.headers.get('warning') ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)
    const warnings = [...texts].map(([, text]) => text!.replaceAll(/\\(.)/g, '$1'))
    return { status: response.status, body: (await response.json()) as Status, warnings }
  }
}

const metadataOf = (object: JsonObject): JsonObject => (isObject(object['metadata']) ? object['metadata'] : {})

function namespaceOf(object: JsonObject): string {
  const { namespace } = metadataOf(object)
  return typeof namespace === 'string' && namespace !== '' ? namespace : 'default'
}

/** Unknown and duplicate fields. */
const strictProblems = (message: string): Problem[] =>
  [...message.matchAll(/(unknown|duplicate) field "((?:[^"\\]|\\.)*)"/g)].map(([, which, field = '']) => ({
    level: 'error',
    rule: which === 'unknown' ? 'UnknownField' : 'DuplicateField',
    field,
    message: `${which} field`,
  }))

function problemsIn({ body: { reason = 'Error', message = '', details } }: Answer): Problem[] {
  const causes = (details?.causes ?? []).filter(({ field }) => field !== undefined && field !== '')
  if (causes.length === 0) return [{ level: 'error', rule: reason, field: '', message }]
  return causes.map(({ field = '', message: text = message }) => ({
    level: 'error',
    rule: reason,
    field: field.replace(/^<nil>$/, ''),
    message: text,
  }))
}

/** Many warnings begin with the field that they are about. */
function warningProblem(text: string): Problem {
  const [, field = '', rest] = /^([a-z][\w-]*(?:[.[][^:\s]*)+): (.+)$/s.exec(text) ?? []
  return { level: 'warning', rule: 'Warning', field, message: rest ?? text }
}

function locate(document: Document, problem: Problem): Finding {
  const { file, object } = document
  const { name, generateName, namespace } = metadataOf(object)
  const named = [namespace, name ?? generateName].filter(text => typeof text === 'string' && text !== '').join('/')
  return { file, ...document.at(problem.field), ...problem, object: `${object['kind']} ${named}`.trim() }
}
