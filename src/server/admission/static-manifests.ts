/**
 * Webhooks and policies from files, which no client can change or remove: `staticManifestsDir` in the configuration of the plugins.
 * A folder is read at the start, which fails on an error, and again when its files change; then an error changes nothing. Import
 * it lazily: it reads YAML.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { manifestUid } from '../../admission/manifest-origin.ts'
import { serverIdentity } from '../../client/identity.ts'
import { ConfigurationError, readDocument } from '../../codec/configuration-document.ts'
import type { Log } from '../../http/observability/log.ts'
import { staticSuffix } from '../../kinds/admissionregistration/static-names.ts'
import { goQuote } from '../../lib/go-text.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import { finish } from '../../lib/step.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { setDefaults, validateCreate } from '../../registry/strategy.ts'
import { Budget } from '../../schema/budget.ts'
import { conformObject } from '../../schema/custom-schema.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import type { Resource } from '../../schema/resource.ts'
import { StatusError } from '../../schema/status-error.ts'
import { ConfigError } from '../config.ts'
import { follow } from '../files/follow-file.ts'
import type { AdmissionMetrics } from './admission-metrics.ts'

/** The folders of webhooks and policies, by plugin. */
export type ManifestFolders = {
  readonly [plugin in 'MutatingAdmissionWebhook' | 'ValidatingAdmissionWebhook' | 'MutatingAdmissionPolicy' | 'ValidatingAdmissionPolicy']?:
    | string
    | undefined
}

export type ManifestParts = {
  readonly catalog: Catalog
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  readonly now: () => Date
  readonly metrics: AdmissionMetrics
  readonly log: Log
  readonly signal: AbortSignal
}

/** The kinds that files of a folder may hold, and their names in errors. */
const KINDS = {
  MutatingAdmissionWebhook: { what: 'webhook', kinds: ['MutatingWebhookConfiguration'] },
  ValidatingAdmissionWebhook: { what: 'webhook', kinds: ['ValidatingWebhookConfiguration'] },
  MutatingAdmissionPolicy: { what: 'policy', kinds: ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'] },
  ValidatingAdmissionPolicy: { what: 'policy', kinds: ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'] },
} as const

/** The current objects of all folders. */
export class StaticManifests {
  readonly #objects = new Map<string, readonly AnyObject[]>()
  readonly #listeners: (() => void)[] = []

  /** Reads every folder and follows it. Throws ConfigError. */
  constructor(folders: ManifestFolders, parts: ManifestParts) {
    for (const plugin of Object.keys(KINDS) as (keyof typeof KINDS)[]) {
      const folder = folders[plugin]
      if (folder) this.#open(plugin, folder, parts)
    }
  }

  /** The objects of a kind, by name. */
  of(kind: string): readonly AnyObject[] {
    return this.#objects.get(kind) ?? []
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  #open(plugin: keyof typeof KINDS, folder: string, { metrics, log, signal, now, ...parts }: ManifestParts): void {
    const { what, kinds } = KINDS[plugin]
    const accepted = kinds.map(kind => parts.catalog.findKind(`admissionregistration.${parts.groupDomain}/v1`, kind)!)
    const take = (text: string) => {
      const files: ManifestFile[] = JSON.parse(text)
      const objects = readManifests(files, { accepted, now: now(), ...parts })
      for (const kind of kinds)
        this.#objects.set(
          kind,
          objects.filter(object => object.kind === kind),
        )
      metrics.manifests.reloaded('success', now().getTime() / 1000, { plugin })
      metrics.manifests.uses(contentOf(files), { plugin })
      for (const listener of this.#listeners) listener()
    }
    let text: string
    try {
      take((text = textsOf(folder)))
    } catch (error) {
      throw new ConfigError(
        `--admission-control-config-file: failed to load static ${what} manifests from ${goQuote(folder)}: ${(error as Error).message}`,
      )
    }
    const stop = follow(async () => textsOf(folder), {
      text,
      take(changed) {
        take(changed)
        log.info({ plugin, folder }, 'reloaded admission manifest config')
      },
      failed(why) {
        metrics.manifests.reloaded('failure', now().getTime() / 1000, { plugin })
        log.error({ plugin, folder, error: why }, 'admission manifests could not be read again; those in use stay')
      },
    })
    signal.addEventListener('abort', stop, { once: true })
  }
}

type ManifestFile = { readonly path: string; readonly text: string }

const EXTENSIONS = ['.yaml', '.yml', '.json']

/** The files of a folder as one text, so that changes are found by comparison. */
function textsOf(folder: string): string {
  const files = readdirSync(folder, { withFileTypes: true })
    .filter(entry => !entry.isDirectory() && EXTENSIONS.includes(extname(entry.name).toLowerCase()))
    .map(({ name }) => join(folder, name))
    .sort()
  return JSON.stringify(files.map((path): ManifestFile => ({ path, text: readFileSync(path, 'utf8') })))
}

/** The input of the hash of manifests. */
const contentOf = (files: readonly ManifestFile[]): string => files.map(({ text }) => (text === '' ? '' : `${text}\0`)).join('')

type Reading = Pick<ManifestParts, 'groupDomain' | 'gate'> & {
  readonly accepted: readonly Resource[]
  readonly now: Date
}

/** Kubernetes' separator of documents: nothing but a comment may follow on its line. */
const SEPARATOR = /^---[ \t]*(?:#.*)?\r?$/m

/** The objects of files, by name. Throws an Error that names the file. */
function readManifests(files: readonly ManifestFile[], reading: Reading): AnyObject[] {
  const objects: AnyObject[] = []
  const seen = new Map<string, string>()
  for (const { path, text } of files)
    for (const document of text.split(SEPARATOR).filter(each => each.trim() !== ''))
      try {
        for (const object of objectsIn(readDocument(document), reading)) {
          checkName(object, path, { seen, ...reading })
          checkConstraints(object, path, reading)
          objects.push(object)
        }
      } catch (error) {
        if (!(error instanceof ConfigurationError || error instanceof StatusError)) throw error
        throw new Error(`error loading ${path}: ${error.message}`)
      }
  checkReferences(objects)
  return objects.sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
}

/** The object of a document, or the items of a list. */
function* objectsIn(document: JsonObject, reading: Reading): Iterable<AnyObject> {
  const { apiVersion, kind, items } = document
  const isList = (kind === 'List' && apiVersion === 'v1') || reading.accepted.some(each => `${each.kind}List` === kind)
  if (!isList) yield objectOf(document, reading)
  else
    for (const item of Array.isArray(items) ? items : []) {
      if (!isObject(item)) throw new ConfigurationError('failed to decode list item: it is not an object')
      // The items of a typed list need no apiVersion and kind.
      yield* objectsIn(kind === 'List' ? item : { apiVersion: apiVersion as Json, kind: (kind as string).slice(0, -4), ...item }, reading)
    }
}

/** An object as a client could have created it: with defaults, and valid. */
function objectOf(document: JsonObject, { accepted, groupDomain, gate, now }: Reading): AnyObject {
  const { apiVersion, kind } = document
  const resource = accepted.find(each => each.apiVersion === apiVersion && each.kind === kind)
  if (!resource)
    throw new ConfigurationError(`unsupported resource type ${String(kind)} of ${String(apiVersion)}, expected ${namesOf(accepted)}`)
  const { value, problems } = conformObject(resource, document)
  if (problems.length > 0) throw new ConfigurationError(`strict decoding error: ${problems.join(', ')}`)
  const object: AnyObject = value
  const ctx: RequestContext = {
    user: serverIdentity().user,
    now,
    groupDomain,
    // Clients cannot use such names.
    gate: name => name !== 'ManifestBasedAdmissionControlConfig' && gate(name),
    budget: new Budget(),
  }
  setDefaults(resource, object, ctx)
  object.metadata.generation = 1
  object.metadata.uid = manifestUid(createHash('sha256').update(JSON.stringify(document)).digest('hex'))
  if (object.metadata.name) finish(validateCreate(resource, object, ctx))
  return object
}

const namesOf = (resources: readonly Resource[]) => resources.map(({ kind, apiVersion }) => `${kind} of ${apiVersion}`).join(' or ')

function checkName(
  { kind, metadata: { name = '' } }: AnyObject,
  path: string,
  { seen, groupDomain }: Reading & { readonly seen: Map<string, string> },
): void {
  const [file, suffix] = [goQuote(path), staticSuffix(groupDomain)]
  if (name === '') throw new ConfigurationError(`resource in file ${file} must have a name`)
  if (!name.endsWith(suffix))
    throw new ConfigurationError(`${goQuote(name)} in file ${file} must have a name ending with ${goQuote(suffix)}`)
  const key = `${kind}/${name}`
  const before = seen.get(key)
  if (before !== undefined)
    throw new ConfigurationError(`duplicate name ${goQuote(name)} found in file ${file} (previously seen in ${goQuote(before)})`)
  seen.set(key, path)
}

/** Manifests must not depend on objects that clients can change: services and parameters. */
function checkConstraints({ kind, metadata, spec, webhooks }: AnyObject, path: string, { groupDomain }: Reading): void {
  const name = goQuote(metadata.name!)
  for (const { name: webhook, clientConfig } of webhooks ?? []) {
    const where = `webhook ${goQuote(webhook)} in ${name} (file ${goQuote(path)})`
    if (clientConfig.service)
      throw new ConfigurationError(`${where}: clientConfig.service is not supported for static manifests; use clientConfig.url instead`)
    if (!clientConfig.url) throw new ConfigurationError(`${where}: clientConfig.url is required for static manifests`)
  }
  if (spec?.paramKind) throw new ConfigurationError(`${kind} ${name}: spec.paramKind is not supported for static manifests`)
  if (!kind.endsWith('Binding')) return
  const suffix = staticSuffix(groupDomain)
  if (!spec.policyName) throw new ConfigurationError(`binding ${name} must reference a policy (spec.policyName)`)
  if (!spec.policyName.endsWith(suffix))
    throw new ConfigurationError(`binding ${name}: spec.policyName ${goQuote(spec.policyName)} must end with ${goQuote(suffix)}`)
  if (spec.paramRef) throw new ConfigurationError(`binding ${name}: spec.paramRef is not supported for static manifests`)
}

function checkReferences(objects: readonly AnyObject[]): void {
  const policies = new Set(objects.filter(({ kind }) => !kind.endsWith('Binding')).map(({ metadata }) => metadata.name))
  for (const { kind, metadata, spec } of objects)
    if (kind.endsWith('Binding') && !policies.has(spec.policyName))
      throw new Error(
        `binding ${goQuote(metadata.name!)} references policy ${goQuote(spec.policyName)} which does not exist in the manifest directory`,
      )
}
