/** Schemas of kinds from the server's OpenAPI v3 documents: fields, their documentation and types, for the editor and for templates. */
import { get } from './api.ts'
import type { Kind } from './discovery.ts'

export type Schema = {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly format?: string
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly minimum?: number
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[]
}

type Document = { readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> } }

const documents = new Map<string, Promise<Document>>()

/** The schema of a kind, with the others of its document. */
export type KindSchema = { readonly root: Schema; readonly all: Readonly<Record<string, Schema>> }

export async function loadSchema({ group, version, kind }: Kind): Promise<KindSchema | undefined> {
  const path = `/openapi/v3/${group === '' ? `api/${version}` : `apis/${group}/${version}`}`
  const known = documents.get(path) ?? get<Document>(path)
  documents.set(path, known)
  try {
    const all = (await known).components?.schemas ?? {}
    const root = Object.values(all).find(schema =>
      schema['x-kubernetes-group-version-kind']?.some(gvk => gvk.group === group && gvk.version === version && gvk.kind === kind),
    )
    return root && { root, all }
  } catch {
    documents.delete(path)
    return undefined
  }
}

const REF = '#/components/schemas/'

/** A schema without references at its top; its description stays that of the field. */
export function resolve(schema: Schema | undefined, all: KindSchema['all']): Schema | undefined {
  let found = schema
  for (let i = 0; found && i < 8; i++) {
    const { $ref, allOf } = found
    const next: Schema | undefined = $ref?.startsWith(REF) ? all[$ref.slice(REF.length)] : allOf?.length === 1 ? allOf[0] : undefined
    if (!next) return found
    const { $ref: _, allOf: __, ...own } = found
    found = { ...next, ...own, ...(own.description ? { description: own.description } : {}) }
  }
  return found
}

/** The schema at a path: names of fields, and texts in brackets for items of lists. */
export function schemaAt({ root, all }: KindSchema, path: readonly string[]): Schema | undefined {
  let schema = resolve(root, all)
  for (const step of path) {
    if (!schema) return undefined
    if (step.startsWith('[')) schema = resolve(schema.items, all)
    else
      schema = resolve(
        schema.properties?.[step] ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined),
        all,
      )
  }
  return schema
}

export function typeName(schema: Schema | undefined, all: KindSchema['all']): string {
  const found = resolve(schema, all)
  if (!found) return ''
  if (found['x-kubernetes-int-or-string'] || found.oneOf) return 'integer or string'
  if (found.type === 'array') return `list of ${typeName(found.items, all) || 'values'}`
  if (found.type === 'object' && typeof found.additionalProperties === 'object')
    return `map of ${typeName(found.additionalProperties, all)}`
  return found.enum ? found.enum.map(String).join(' | ') : (found.type ?? 'object')
}

/** Names whose content a template has even where the schema does not require it. */
const ALWAYS = new Set(['spec', 'template', 'jobTemplate'])
const MAX_DEPTH = 9

/** A minimal object of a kind: required fields with values to be replaced. */
export function templateOf(kind: Kind, schema: KindSchema | undefined, namespace: string): Record<string, unknown> {
  const name = 'example'
  const head = {
    apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: { name, ...(kind.namespaced ? { namespace: namespace === '' ? 'default' : namespace } : {}) },
  }
  if (!schema) return { ...head, spec: {} }
  const root = resolve(schema.root, schema.all)
  const rest: Record<string, unknown> = {}
  for (const [field, below] of Object.entries(root?.properties ?? {})) {
    if (['apiVersion', 'kind', 'metadata', 'status'].includes(field)) continue
    if (root?.required?.includes(field) || ALWAYS.has(field)) rest[field] = sampleOf(field, below, schema.all, 1)
  }
  // A kind without a spec, such as one that holds data.
  if (Object.keys(rest).length === 0) {
    const [field] = ['data', 'rules', 'subjects', 'webhooks'].filter(one => root?.properties?.[one])
    if (field) rest[field] = field === 'data' ? { key: 'value' } : sampleOf(field, root!.properties![field]!, schema.all, 1)
  }
  return { ...head, ...rest }
}

function sampleOf(field: string, schema: Schema, all: KindSchema['all'], depth: number): unknown {
  const found = resolve(schema, all)
  if (!found || depth > MAX_DEPTH) return {}
  if (found.enum?.length) return found.enum[0]
  if (found['x-kubernetes-int-or-string']) return 1
  switch (found.type) {
    case 'string':
      return field === 'image'
        ? 'registry.example/image:1.0'
        : field === 'schedule'
          ? '*/5 * * * *'
          : field === 'name'
            ? 'example'
            : found.default || 'text'
    case 'integer':
    case 'number':
      return found.default ?? Math.max(1, found.minimum ?? 1)
    case 'boolean':
      return found.default ?? false
    case 'array':
      return found.items ? [sampleOf(field, found.items, all, depth + 1)] : []
  }
  const object: Record<string, unknown> = {}
  if (found.properties?.['matchLabels']) return { matchLabels: { app: 'example' } }
  // The template of a pod, whose labels its selector must find.
  if (field === 'template' && found.properties?.['metadata']) object['metadata'] = { labels: { app: 'example' } }
  for (const [name, below] of Object.entries(found.properties ?? {})) {
    if (name === 'metadata' && field === 'template') continue
    if (found.required?.includes(name) || ALWAYS.has(name)) object[name] = sampleOf(name, below, all, depth + 1)
    else if (name === 'image' && found.required?.includes('name')) object[name] = sampleOf(name, below, all, depth + 1)
  }
  return object
}
